/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table of return addresses; those of new stacks are resolved together. */
#include "collector-lib/trace/stack_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "collector-lib/core/stacks.h"
#include "collector-lib/trace/frame_names.h"

#define SLOTS (STACK_NAMES_MAX * 2)

void stack_names_fini(struct stack_names *f)
{
    for (size_t i = 0; f->slot && i < SLOTS; i++) {
        free(f->slot[i].name);
    }
    free(f->slot);
    *f = (struct stack_names){0};
}

static struct frame *frame_slot(const struct stack_names *f, uintptr_t pc)
{
    size_t at = (size_t)((pc * 0x9e3779b97f4a7c15u) >> 20) % SLOTS;
    while (f->slot[at].pc && f->slot[at].pc != pc) {
        at = (at + 1) % SLOTS;
    }
    return &f->slot[at];
}

struct unnamed {
    struct frame **frame;
    size_t count, cap;
};

/* Adds the frame at \p pc unless it has a name already. */
static void add_unnamed(struct stack_names *f, struct unnamed *u, uintptr_t pc)
{
    struct frame *frame = frame_slot(f, pc);
    if (frame->pc || f->count == STACK_NAMES_MAX) {
        return;
    }
    void *more = array_grown(u->frame, u->count, &u->cap, sizeof *u->frame);
    if (!more) {
        return;
    }
    u->frame = more;
    frame->pc = pc;
    f->count++;
    u->frame[u->count++] = frame;
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
            add_unnamed(f, &unnamed, stack->pc[i]);
        }
    }
    frame_names_find(unnamed.frame, unnamed.count);
    free(unnamed.frame);
}

static const struct frame *frame_at(const struct stack_names *f, const struct stack *s,
                                    uint32_t i)
{
    const struct frame *frame = frame_slot(f, s->pc[i]);
    return frame->pc ? frame : NULL;
}

/* The frame behind the first run of frames of CUDA and gpufl. Frames before that run
 * belong to a libgpufl that is linked into the program. */
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
