/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the symbol table of an ELF file by pread, without mapping it. */
#include "collector-lib/trace/elf_symbols.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define CHUNK      1024u /* symbols read at once, 24 KiB */
#define NAME_BYTES 4096u

struct tables {
    uint64_t symbols_at, symbols; /* offset, count */
    uint64_t names_at, names_size;
};

bool elf_read_at(int fd, void *into, size_t size, uint64_t at)
{
    return at <= INT64_MAX && pread(fd, into, size, (off_t)at) == (ssize_t)size;
}

static bool section_at(int fd, const Elf64_Ehdr *head, uint64_t index, Elf64_Shdr *out)
{
    return index < head->e_shnum &&
           elf_read_at(fd, out, sizeof *out, head->e_shoff + index * sizeof *out);
}

static bool find_tables(int fd, struct tables *out)
{
    Elf64_Ehdr head;
    Elf64_Shdr section, names;
    uint32_t best = SHT_NULL;
    if (!elf_read_at(fd, &head, sizeof head, 0) ||
        memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB ||
        head.e_shentsize != sizeof section) {
        return false;
    }
    for (uint64_t i = 0; i < head.e_shnum && best != SHT_SYMTAB; i++) {
        if (section_at(fd, &head, i, &section) &&
            (section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM) &&
            section_at(fd, &head, section.sh_link, &names)) {
            best = section.sh_type;
            *out = (struct tables){.symbols_at = section.sh_offset,
                                   .symbols = section.sh_size / sizeof(Elf64_Sym),
                                   .names_at = names.sh_offset,
                                   .names_size = names.sh_size};
        }
    }
    return best != SHT_NULL;
}

static char *name_at(int fd, const struct tables *t, uint32_t offset)
{
    char name[NAME_BYTES];
    if (offset >= t->names_size || t->names_at + offset > INT64_MAX) {
        return NULL;
    }
    ssize_t len = pread(fd, name, sizeof name - 1, (off_t)(t->names_at + offset));
    if (len <= 0 || name[0] == '\0') {
        return NULL;
    }
    name[len] = '\0';
    return strdup(name);
}

/* The first query at or above \p address. */
static size_t first_from(const struct elf_query *query, size_t count, uint64_t address)
{
    size_t low = 0;
    while (count > low) {
        size_t middle = low + (count - low) / 2;
        if (query[middle].address < address) {
            low = middle + 1;
        } else {
            count = middle;
        }
    }
    return low;
}

/* How many got a name. */
static size_t name_those_in(int fd, const struct tables *t, const Elf64_Sym *symbol,
                            struct elf_query *query, size_t count)
{
    unsigned type = ELF64_ST_TYPE(symbol->st_info);
    size_t named = 0;
    if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol->st_size == 0) {
        return 0;
    }
    for (size_t i = first_from(query, count, symbol->st_value);
         i < count && query[i].address - symbol->st_value < symbol->st_size; i++) {
        if (!query[i].name) {
            query[i].name = name_at(fd, t, symbol->st_name);
            named += query[i].name != NULL;
        }
    }
    return named;
}

void elf_symbols_name(int fd, struct elf_query *query, size_t count)
{
    Elf64_Sym symbol[CHUNK];
    struct tables t = {0};
    size_t left = count;
    if (!find_tables(fd, &t)) {
        return;
    }
    for (uint64_t at = 0; at < t.symbols && left > 0; at += CHUNK) {
        uint64_t wanted = t.symbols - at < CHUNK ? t.symbols - at : CHUNK;
        uint64_t offset = t.symbols_at + at * sizeof symbol[0];
        ssize_t got = offset <= INT64_MAX
                          ? pread(fd, symbol, wanted * sizeof symbol[0], (off_t)offset)
                          : -1;
        if (got <= 0) {
            return;
        }
        for (size_t i = 0; i < (size_t)got / sizeof symbol[0]; i++) {
            left -= name_those_in(fd, &t, &symbol[i], query, count);
        }
    }
}
