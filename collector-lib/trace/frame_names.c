/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the libraries that frames lie in, and reads the symbols of each once. */
#include "collector-lib/trace/frame_names.h"

#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "collector-lib/core/fork_guard.h"
#include "collector-lib/core/own_fd.h"
#include "collector-lib/files/files_thread.h"
#include "collector-lib/trace/build_id.h"
#include "collector-lib/trace/demangle.h"
#include "collector-lib/trace/elf_symbols.h"

static int by_address(const void *a, const void *b)
{
    uintptr_t left = (*(struct frame *const *)a)->pc;
    uintptr_t right = (*(struct frame *const *)b)->pc;
    return left < right ? -1 : left > right;
}

struct module {
    uintptr_t base, begin, end;
    struct build_id id; /* as it was loaded */
    char path[512];     /* "" = the program itself */
};

struct modules {
    struct frame *const *frame; /* by address */
    size_t frames;
    struct module *module; /* those that hold an unnamed frame */
    size_t count, cap;
};

/* The first frame above \p begin. */
static size_t first_behind(const struct modules *m, uintptr_t begin)
{
    size_t i = 0;
    while (i < m->frames && m->frame[i]->pc <= begin) {
        i++;
    }
    return i;
}

/* What is mapped of its notes. */
static struct build_id loaded_id(const struct dl_phdr_info *info)
{
    struct build_id id = {.len = 0};
    for (unsigned i = 0; i < info->dlpi_phnum && !id.len; i++) {
        const ElfW(Phdr) *note = &info->dlpi_phdr[i];
        for (unsigned j = 0; note->p_type == PT_NOTE && j < info->dlpi_phnum; j++) {
            const ElfW(Phdr) *part = &info->dlpi_phdr[j];
            if (part->p_type == PT_LOAD && (part->p_flags & PF_R) &&
                note->p_vaddr >= part->p_vaddr &&
                note->p_vaddr + note->p_filesz <= part->p_vaddr + part->p_filesz) {
                id = build_id_in((const char *)info->dlpi_addr + note->p_vaddr,
                                 note->p_filesz);
                break;
            }
        }
    }
    return id;
}

/* Runs while the loader's list is locked, so it opens no file. */
static int note_module(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct modules *m = arg;
    struct module found = {.base = info->dlpi_addr, .begin = UINTPTR_MAX};
    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD) {
            found.begin = begin < found.begin ? begin : found.begin;
            found.end =
                begin + part->p_memsz > found.end ? begin + part->p_memsz : found.end;
        }
    }
    size_t first = first_behind(m, found.begin);
    if (first == m->frames || m->frame[first]->pc > found.end) {
        return 0;
    }
    void *more = array_grown(m->module, m->count, &m->cap, sizeof *m->module);
    if (more) {
        found.id = loaded_id(info);
        snprintf(found.path, sizeof found.path, "%s",
                 info->dlpi_name ? info->dlpi_name : "");
        m->module = more;
        m->module[m->count++] = found;
    }
    return 0;
}

static const char *module_file(const struct module *m)
{
    const char *slash = strrchr(m->path, '/');
    return m->path[0] == '\0' ? "program" : slash ? slash + 1 : m->path;
}

/* A CUDA runtime that is linked into the program uses this prefix for its functions. */
static bool is_machinery(const struct module *m, const struct elf_query *q)
{
    static const char *const begins[] = {"libgpufl", "libcupti", "libcuda.so",
                                         "libcudart", "libnvidia"};
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++) {
        if (strncmp(module_file(m), begins[i], strlen(begins[i])) == 0) {
            return true;
        }
    }
    return q->name && strncmp(q->name, "libcudart_static_", 17) == 0;
}

/* A `|` would end the frame. */
static char *frame_text(const struct module *m, const struct elf_query *q)
{
    char *name = NULL;
    if (q->name) {
        name = demangle(q->name);
    } else if (asprintf(&name, "%s+0x%llx", module_file(m),
                        (unsigned long long)q->address) < 0) {
        return NULL;
    }
    for (char *c = name; c && *c; c++) {
        *c = *c == '|' ? '!' : *c;
    }
    return name;
}

struct names_wanted {
    const struct module *of;
    struct elf_query *query;
    size_t count;
};

/* A file that was replaced since it was loaded tells other names. What it has no symbols
 * of, a package of debug symbols may tell. */
static void name_by_files(void *arg)
{
    const struct names_wanted *wanted = arg;
    const struct module *m = wanted->of;
    struct own_fd file;
    if (own_fd_take_briefly(
            &file, open(m->path[0] ? m->path : "/proc/self/exe", O_RDONLY | O_CLOEXEC))) {
        struct build_id of_file = build_id_of_file(file.fd);
        if (!m->id.len || build_id_same(&m->id, &of_file)) {
            elf_symbols_name(file.fd, wanted->query, wanted->count);
        }
        own_fd_close(&file);
    }
    if (build_id_open_symbols(&m->id, &file)) {
        elf_symbols_name(file.fd, wanted->query, wanted->count);
        own_fd_close(&file);
    }
}

static void name_module(const struct modules *u, const struct module *m)
{
    size_t first = first_behind(u, m->begin);
    size_t count = 0;
    while (first + count < u->frames && u->frame[first + count]->pc <= m->end) {
        count++;
    }
    struct elf_query *query = calloc(count, sizeof *query);
    for (size_t i = 0; query && i < count;
         i++) { /* the address of the call, not of its return */
        query[i].address = u->frame[first + i]->pc - 1 - m->base;
    }
    if (query) {
        files_thread_do(name_by_files, &(struct names_wanted){m, query, count});
    }
    for (size_t i = 0; query && i < count; i++) {
        u->frame[first + i]->name = frame_text(m, &query[i]);
        u->frame[first + i]->machine = is_machinery(m, &query[i]);
        free(query[i].name);
    }
    free(query);
}

void frame_names_find(struct frame **frame, size_t count)
{
    struct modules modules = {.frame = frame, .frames = count};
    if (count == 0) {
        return;
    }
    qsort(frame, count, sizeof *frame, by_address);
    fork_guard_enter();
    dl_iterate_phdr(note_module, &modules);
    fork_guard_leave();
    for (size_t i = 0; i < modules.count; i++) {
        name_module(&modules, &modules.module[i]);
    }
    free(modules.module);
}
