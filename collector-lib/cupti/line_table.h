/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the source line of an instruction in the line tables of the loaded modules. */
#ifndef GPUFL_COLLECTOR_CUPTI_LINE_TABLE_H
#define GPUFL_COLLECTOR_CUPTI_LINE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct source_line {
    const char *file; /**< valid until line_table_forget; NULL = not known */
    uint32_t number;
};

/** Keeps a copy of a module that has a line table. The copies have a bound; modules
 * beyond it have no lines. */
void line_table_add(const char *cubin, size_t size);

/** How many modules found no room since line_table_forget, counted for each context. */
uint64_t line_table_dropped(void);

/** Finds the source line of the instruction at \p pc_offset of \p function in the
 * module \p crc. \return false if the module has no line table or is not known. */
bool line_table_find(uint64_t crc, const char *function, uint64_t pc_offset,
                     struct source_line *out);

void line_table_forget(void);

#endif
