/* SPDX-License-Identifier: Apache-2.0 */
/* Interns stacks by their hash. The table only grows. */
#include "collector-lib/core/stacks.h"

#include <execinfo.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define SLOTS (STACKS_MAX * 2)

static struct {
    pthread_mutex_t lock;
    _Atomic uint32_t count; /* published with release after stack[] is set */
    _Atomic uint64_t overflowed;
    struct stack *stack[STACKS_MAX + 1];
    uint32_t slot[SLOTS];
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

void stacks_prepare(void)
{
    void *pc[1];
    backtrace(pc, 1);
}

void stacks_after_fork(void)
{
    pthread_mutex_init(&table.lock, NULL);
}

static uint64_t stack_hash(void *const *pc, size_t frames)
{
    uint64_t hash = HASH64_BASIS;
    for (size_t i = 0; i < frames; i++) {
        hash = hash64_word(hash, (uintptr_t)pc[i]);
        hash ^= hash >> 29; /* the low bits of addresses alone would not reach the top */
    }
    return hash;
}

static uint32_t add_stack(uint32_t *slot, uint64_t hash, void *const *pc, size_t frames)
{
    uint32_t id = atomic_load_explicit(&table.count, memory_order_relaxed) + 1;
    struct stack *stack =
        id > STACKS_MAX ? NULL : malloc(sizeof *stack + frames * sizeof stack->pc[0]);
    if (!stack) {
        atomic_fetch_add_explicit(&table.overflowed, 1, memory_order_relaxed);
        return 0;
    }
    stack->hash = hash;
    stack->frames = (uint32_t)frames;
    memcpy(stack->pc, pc, frames * sizeof stack->pc[0]);
    table.stack[id] = stack;
    *slot = id;
    atomic_store_explicit(&table.count, id, memory_order_release);
    return id;
}

static uint32_t intern_stack(uint64_t hash, void *const *pc, size_t frames)
{
    pthread_mutex_lock(&table.lock);
    size_t at = (size_t)(hash % SLOTS);
    while (table.slot[at] && table.stack[table.slot[at]]->hash != hash) {
        at = (at + 1) % SLOTS;
    }
    uint32_t id =
        table.slot[at] ? table.slot[at] : add_stack(&table.slot[at], hash, pc, frames);
    pthread_mutex_unlock(&table.lock);
    return id;
}

uint32_t stacks_here(struct stacks_cached *cache)
{
    void *pc[STACKS_DEPTH];
    int frames = backtrace(pc, STACKS_DEPTH);
    if (frames <= 0) {
        return 0;
    }
    uint64_t hash = stack_hash(pc, (size_t)frames);
    struct stacks_cached *cached = &cache[hash % STACKS_CACHE_SLOTS];
    if (!cached->id || cached->hash != hash) {
        *cached = (struct stacks_cached){.hash = hash,
                                         .id = intern_stack(hash, pc, (size_t)frames)};
    }
    return cached->id;
}

uint32_t stacks_count(void)
{
    return atomic_load_explicit(&table.count, memory_order_acquire);
}

const struct stack *stacks_get(uint32_t id)
{
    return table.stack[id];
}

uint64_t stacks_overflowed(void)
{
    return atomic_load_explicit(&table.overflowed, memory_order_relaxed);
}
