/* SPDX-License-Identifier: Apache-2.0 */
/* From an instruction to its source line, by the line tables of the loaded modules. */
#ifndef GPUFL_COLLECTOR_CUPTI_LINE_TABLE_H
#define GPUFL_COLLECTOR_CUPTI_LINE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct source_line {
    const char *file; /**< lives until line_table_forget; NULL = not known */
    uint32_t number;
};

/** Keeps a copy of a module that has a line table, up to a bound of all; later ones have
 * no lines. */
void line_table_add(const char *cubin, size_t size);

/** Modules that found no room since line_table_forget, again for each context. */
uint64_t line_table_dropped(void);

/** Where the instruction \p pc_offset of \p function in the module \p crc comes from.
 * \return false when the module has no line table, or is not known. */
bool line_table_find(uint64_t crc, const char *function, uint64_t pc_offset,
                     struct source_line *out);

void line_table_forget(void);

#endif
