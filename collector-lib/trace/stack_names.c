/* SPDX-License-Identifier: Apache-2.0 */
#include "collector-lib/trace/stack_names.h"

#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector-lib/core/fork_guard.h"
#include "collector-lib/core/stacks.h"
#include "collector-lib/trace/demangle.h"
#include "collector-lib/trace/elf_symbols.h"

#define SLOTS (STACK_NAMES_MAX * 2)

void stack_names_fini(struct stack_names *f)
{
    for (size_t i = 0; f->slot && i < SLOTS; i++) {
        free(f->slot[i].name);
    }
    free(f->slot);
    *f = (struct stack_names){0};
}

static struct frame *slot_of(const struct stack_names *f, uintptr_t pc)
{
    size_t at = (size_t)((pc * 0x9e3779b97f4a7c15u) >> 20) % SLOTS;
    while (f->slot[at].pc && f->slot[at].pc != pc) {
        at = (at + 1) % SLOTS;
    }
    return &f->slot[at];
}

/* ---- what has no name yet ---- */

struct unnamed {
    struct frame **frame;
    size_t count, cap;
};

static void want(struct stack_names *f, struct unnamed *u, uintptr_t pc)
{
    struct frame *frame = slot_of(f, pc);
    if (frame->pc || f->count == STACK_NAMES_MAX) {
        return;
    }
    if (u->count == u->cap) {
        size_t cap = u->cap * 2 + 64;
        void *more = realloc(u->frame, cap * sizeof *u->frame);
        if (!more) {
            return;
        }
        u->frame = more;
        u->cap = cap;
    }
    frame->pc = pc;
    f->count++;
    u->frame[u->count++] = frame;
}

static int by_address(const void *a, const void *b)
{
    uintptr_t left = (*(struct frame *const *)a)->pc;
    uintptr_t right = (*(struct frame *const *)b)->pc;
    return left < right ? -1 : left > right;
}

/* ---- where it lies ---- */

struct module {
    uintptr_t base, begin, end;
    char path[512]; /* "" = the program itself */
};

struct modules {
    const struct unnamed *unnamed;
    struct module *module; /* those that hold an unnamed frame */
    size_t count;
};

static size_t first_in(const struct unnamed *u, uintptr_t begin)
{
    size_t i = 0;
    while (i < u->count && u->frame[i]->pc <= begin) {
        i++;
    }
    return i;
}

/* With the loader's list locked, so no file is opened here. */
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
    size_t first = first_in(m->unnamed, found.begin);
    if (first == m->unnamed->count || m->unnamed->frame[first]->pc > found.end) {
        return 0;
    }
    void *more = realloc(m->module, (m->count + 1) * sizeof *m->module);
    if (more) {
        snprintf(found.path, sizeof found.path, "%s",
                 info->dlpi_name ? info->dlpi_name : "");
        m->module = more;
        m->module[m->count++] = found;
    }
    return 0;
}

static const char *file_name(const struct module *m)
{
    const char *slash = strrchr(m->path, '/');
    return m->path[0] == '\0' ? "program" : slash ? slash + 1 : m->path;
}

/* A runtime that is linked into the program names its inner functions so. */
static bool is_machine(const struct module *m, const struct elf_query *q)
{
    static const char *const begins[] = {"libgpufl", "libcupti", "libcuda.so",
                                         "libcudart", "libnvidia"};
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++) {
        if (strncmp(file_name(m), begins[i], strlen(begins[i])) == 0) {
            return true;
        }
    }
    return q->name && strncmp(q->name, "libcudart_static_", 17) == 0;
}

/* A `|` would end the frame. */
static char *readable(const struct module *m, const struct elf_query *q)
{
    char *name = NULL;
    if (q->name) {
        name = demangle(q->name);
    } else if (asprintf(&name, "%s+0x%llx", file_name(m),
                        (unsigned long long)q->address) < 0) {
        return NULL;
    }
    for (char *c = name; c && *c; c++) {
        *c = *c == '|' ? '!' : *c;
    }
    return name;
}

static void name_module(const struct unnamed *u, const struct module *m)
{
    size_t first = first_in(u, m->begin);
    size_t count = 0;
    while (first + count < u->count && u->frame[first + count]->pc <= m->end) {
        count++;
    }
    struct elf_query *query = calloc(count, sizeof *query);
    int fd = open(m->path[0] ? m->path : "/proc/self/exe", O_RDONLY | O_CLOEXEC);
    for (size_t i = 0; query && i < count; i++) { /* the call, not where it returns */
        query[i].address = u->frame[first + i]->pc - 1 - m->base;
    }
    if (query && fd >= 0) {
        elf_symbols_name(fd, query, count);
    }
    for (size_t i = 0; query && i < count; i++) {
        u->frame[first + i]->name = readable(m, &query[i]);
        u->frame[first + i]->machine = is_machine(m, &query[i]);
        free(query[i].name);
    }
    if (fd >= 0) {
        close(fd);
    }
    free(query);
}

void stack_names_learn(struct stack_names *f)
{
    uint32_t known = stacks_count();
    struct unnamed unnamed = {0};
    if (f->learnt == known || (!f->slot && !(f->slot = calloc(SLOTS, sizeof *f->slot)))) {
        return;
    }
    while (f->learnt < known) {
        const struct stack *stack = stacks_get(++f->learnt);
        for (uint32_t i = 0; i < stack->frames; i++) {
            want(f, &unnamed, stack->pc[i]);
        }
    }
    if (unnamed.count) {
        struct modules modules = {.unnamed = &unnamed};
        qsort(unnamed.frame, unnamed.count, sizeof *unnamed.frame, by_address);
        fork_guard_enter();
        dl_iterate_phdr(note_module, &modules);
        fork_guard_leave();
        for (size_t i = 0; i < modules.count; i++) {
            name_module(&unnamed, &modules.module[i]);
        }
        free(modules.module);
    }
    free(unnamed.frame);
}

/* ---- text ---- */

static const struct frame *frame_at(const struct stack_names *f, const struct stack *s,
                                    uint32_t i)
{
    const struct frame *frame = slot_of(f, s->pc[i]);
    return frame->pc ? frame : NULL;
}

/* Behind the first run of frames of CUDA and ours: what stands before it is libgpufl
 * linked into the program. */
static uint32_t caller_of(const struct stack_names *f, const struct stack *s)
{
    uint32_t i = 0;
    const struct frame *frame;
    while (i < s->frames && !((frame = frame_at(f, s, i)) && frame->machine)) {
        i++;
    }
    uint32_t run = i;
    while (run < s->frames && (frame = frame_at(f, s, run)) && frame->machine) {
        run++;
    }
    return i == s->frames ? 0 : run;
}

void stack_names_text(const struct stack_names *f, uint32_t id, struct text *out)
{
    size_t begin = out->len;
    if (!f->slot || id == 0 || id > f->learnt) {
        return;
    }
    const struct stack *stack = stacks_get(id);
    for (uint32_t i = caller_of(f, stack); i < stack->frames; i++) {
        const struct frame *frame = frame_at(f, stack, i);
        const char *name = frame && frame->name ? frame->name : "?";
        if (out->len - begin + strlen(name) + 1 > STACK_NAMES_TEXT_BYTES) {
            return;
        }
        text_puts(out, out->len > begin ? "|" : "");
        text_puts(out, name);
    }
}
