/* SPDX-License-Identifier: Apache-2.0 */
/* The file may be anybody's, so no length in it is believed, and little of it is read. */
#include "collector-lib/trace/build_id.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector-lib/trace/elf_symbols.h"

#define NOTES_MAX    4096u /* what is read of a segment of notes */
#define SEGMENTS_MAX 64u
#define SYMBOLS_ROOT "/usr/lib/debug/.build-id/"

/* Names and descriptions are padded to four bytes. */
static size_t padded(uint32_t size)
{
    return ((size_t)size + 3) & ~(size_t)3;
}

struct build_id build_id_in(const void *notes, size_t len)
{
    struct build_id id = {.len = 0};
    const uint8_t *at = notes;
    Elf64_Nhdr note;
    while (len >= sizeof note) {
        memcpy(&note, at, sizeof note);
        size_t size = sizeof note + padded(note.n_namesz) + padded(note.n_descsz);
        if (size > len) {
            break;
        }
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof ELF_NOTE_GNU &&
            memcmp(at + sizeof note, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0 &&
            note.n_descsz > 0 && note.n_descsz <= BUILD_ID_MAX) {
            id.len = note.n_descsz;
            memcpy(id.bytes, at + sizeof note + padded(note.n_namesz), id.len);
            break;
        }
        at += size;
        len -= size;
    }
    return id;
}

struct build_id build_id_of_file(int fd)
{
    struct build_id id = {.len = 0};
    Elf64_Ehdr head;
    Elf64_Phdr part;
    uint8_t notes[NOTES_MAX];
    if (!elf_read_at(fd, &head, sizeof head, 0) ||
        memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof part) {
        return id;
    }
    for (uint64_t i = 0; i < head.e_phnum && i < SEGMENTS_MAX && !id.len; i++) {
        if (!elf_read_at(fd, &part, sizeof part, head.e_phoff + i * sizeof part) ||
            part.p_type != PT_NOTE || part.p_filesz > sizeof notes ||
            !elf_read_at(fd, notes, part.p_filesz, part.p_offset)) {
            continue;
        }
        id = build_id_in(notes, part.p_filesz);
    }
    return id;
}

bool build_id_same(const struct build_id *a, const struct build_id *b)
{
    return a->len && a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

bool build_id_open_symbols(const struct build_id *id, struct own_fd *file)
{
    char path[sizeof SYMBOLS_ROOT + 2 * BUILD_ID_MAX + sizeof "/.debug"] = SYMBOLS_ROOT;
    size_t at = strlen(path);
    if (id->len < 2) {
        return false;
    }
    for (size_t i = 0; i < id->len; i++) {
        at += (size_t)snprintf(path + at, sizeof path - at, i == 0 ? "%02x/" : "%02x",
                               id->bytes[i]);
    }
    snprintf(path + at, sizeof path - at, ".debug");
    if (!own_fd_take_briefly(file,
                             open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY))) {
        return false;
    }
    struct build_id of_file = build_id_of_file(file->fd);
    bool same = build_id_same(id, &of_file);
    if (!same) {
        own_fd_close(file);
    }
    return same;
}
