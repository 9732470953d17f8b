/* SPDX-License-Identifier: Apache-2.0 */
/* Few frames are in use at once: an array lists their places in order. */
#include "upload/core/frames.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BLOCKS_MAX 64u
#define ALIGNMENT  64u
#define KEPT_BYTES (256u << 10)

struct block {
    size_t begin;
    size_t end;
};

struct frames {
    char *base;
    size_t cap;
    size_t touched; /* end of what was in use since memory was last given back to the
                       kernel */
    unsigned blocks;
    struct block block[BLOCKS_MAX];
};

struct frames *frames_open(size_t cap)
{
    struct frames *f = calloc(1, sizeof *f);
    if (!f) {
        return NULL;
    }
    f->cap = cap;
    f->base = mmap(NULL, cap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (f->base == MAP_FAILED) {
        free(f);
        return NULL;
    }
    return f;
}

void frames_close(struct frames *f)
{
    if (f) {
        munmap(f->base, f->cap);
        free(f);
    }
}

/* The first gap that is large enough; its block goes to \p index. */
static bool frames_find_gap(const struct frames *f, size_t len, unsigned *index,
                            size_t *begin)
{
    size_t at = 0;
    for (unsigned i = 0; i <= f->blocks; i++) {
        size_t limit = i < f->blocks ? f->block[i].begin : f->cap;
        if (limit - at >= len) {
            *index = i;
            *begin = at;
            return true;
        }
        at = i < f->blocks ? f->block[i].end : at;
    }
    return false;
}

void *frames_take(struct frames *f, size_t len)
{
    size_t room = (len + ALIGNMENT) / ALIGNMENT * ALIGNMENT; /* never empty */
    unsigned index;
    size_t begin;
    if (f->blocks == BLOCKS_MAX || room > f->cap ||
        !frames_find_gap(f, room, &index, &begin)) {
        return malloc(room);
    }
    memmove(&f->block[index + 1], &f->block[index],
            (f->blocks - index) * sizeof f->block[0]);
    f->block[index] = (struct block){begin, begin + room};
    f->blocks++;
    f->touched = begin + room > f->touched ? begin + room : f->touched;
    return f->base + begin;
}

static bool frames_is_inside(const struct frames *f, const void *frame)
{
    return (uintptr_t)frame >= (uintptr_t)f->base &&
           (uintptr_t)frame < (uintptr_t)f->base + f->cap;
}

void frames_give(struct frames *f, void *frame)
{
    if (!frames_is_inside(f, frame)) {
        free(frame);
        return;
    }
    size_t begin = (size_t)((char *)frame - f->base);
    unsigned index = 0;
    while (f->block[index].begin != begin) {
        index++;
    }
    f->blocks--;
    memmove(&f->block[index], &f->block[index + 1],
            (f->blocks - index) * sizeof f->block[0]);
    if (f->blocks == 0 && f->touched > KEPT_BYTES) {
        madvise(f->base + KEPT_BYTES, f->touched - KEPT_BYTES, MADV_DONTNEED);
        f->touched = KEPT_BYTES;
    }
}
