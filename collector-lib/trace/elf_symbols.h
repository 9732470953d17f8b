/* SPDX-License-Identifier: Apache-2.0 */
/* The names of functions, from the symbol table of a program or library. The file is
 * read, never mapped: one that shrinks meanwhile must not be the job's SIGBUS. */
#ifndef GPUFL_COLLECTOR_TRACE_ELF_SYMBOLS_H
#define GPUFL_COLLECTOR_TRACE_ELF_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

struct elf_query {
    uint64_t address; /**< as in the file, so without the base where it was loaded */
    char *name;       /**< NULL; set to the mangled name, to be freed by the caller */
};

/** Names those of \p query, sorted by address, that lie in a function: by .symtab, or by
 * .dynsym of a file that was stripped. What cannot be read stays without a name. Source
 * of the format: elf(5), 64 bits, little endian. */
void elf_symbols_name(int fd, struct elf_query *query, size_t count);

#endif
