/* SPDX-License-Identifier: Apache-2.0 */
/* The scopes that a thread has open, in the order in which they began. */
#ifndef GPUFL_COLLECTOR_CORE_THREAD_SCOPES_H
#define GPUFL_COLLECTOR_CORE_THREAD_SCOPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A thread may keep scopes open by mistake: beyond this number, its oldest one is taken
 * for forgotten. A power of two. */
#define THREAD_SCOPES_MAX 4096u

struct thread_scope {
    uint64_t instance;
    uint32_t name_id;
    uint16_t depth;
};

/** Used by its thread alone; `at` need not be cleared. */
struct thread_scopes {
    uint32_t count;
    uint32_t first; /* in `at`, which is used in a circle */
    struct thread_scope at[THREAD_SCOPES_MAX];
};

/** The innermost one; NULL if none is open. Valid until the next change. */
static inline const struct thread_scope *
thread_scopes_last(const struct thread_scopes *scopes)
{
    uint32_t last = scopes->first + scopes->count - 1;
    return scopes->count ? &scopes->at[last % THREAD_SCOPES_MAX] : NULL;
}

/** There must be room. */
static inline void thread_scopes_push(struct thread_scopes *scopes,
                                      struct thread_scope scope)
{
    scopes->at[(scopes->first + scopes->count++) % THREAD_SCOPES_MAX] = scope;
}

/** Removes \p instance wherever it is. False if it is not open. */
bool thread_scopes_search(struct thread_scopes *scopes, uint64_t instance);

/** The same; faster for the innermost one. */
static inline bool thread_scopes_remove(struct thread_scopes *scopes, uint64_t instance)
{
    const struct thread_scope *last = thread_scopes_last(scopes);
    if (last && last->instance == instance) {
        scopes->count--;
        return true;
    }
    return thread_scopes_search(scopes, instance);
}

/** Removes the oldest one. There must be one. */
struct thread_scope thread_scopes_take_first(struct thread_scopes *scopes);

#endif
