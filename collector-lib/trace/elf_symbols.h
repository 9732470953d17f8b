/* SPDX-License-Identifier: Apache-2.0 */
/* Names of functions from the symbol table of a program or library. The file is read,
 * not mapped: a file that shrinks would cause a SIGBUS. */
#ifndef GPUFL_COLLECTOR_TRACE_ELF_SYMBOLS_H
#define GPUFL_COLLECTOR_TRACE_ELF_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_query {
    uint64_t address; /**< as in the file: without the load address */
    char *name;       /**< NULL; set to the mangled name, to be freed by the caller */
};

/** Sets the names of the queries, sorted by address, that lie in a function, from
 * .symtab, or from .dynsym of a stripped file. Queries that cannot be resolved keep
 * NULL. Format: elf(5), 64 bits, little endian. */
void elf_symbols_name(int fd, struct elf_query *query, size_t count);

/** Reads all of \p size bytes at \p at, which a file may say itself. */
bool elf_read_at(int fd, void *into, size_t size, uint64_t at);

#endif
