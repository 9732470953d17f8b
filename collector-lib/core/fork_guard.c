/* SPDX-License-Identifier: Apache-2.0 */
/* A lock that fork() waits for, at most FORK_GUARD_MS. */
#include "collector-lib/core/fork_guard.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "collector-lib/core/thread.h"

static struct {
    pthread_mutex_t lock;
    _Atomic bool in_vain; /* a fork has waited for what holds it now, which may hang */
} guard = {.lock = PTHREAD_MUTEX_INITIALIZER};
static __thread bool forker_holds;

void fork_guard_enter(void)
{
    pthread_mutex_lock(&guard.lock);
}

void fork_guard_leave(void)
{
    atomic_store(&guard.in_vain, false);
    pthread_mutex_unlock(&guard.lock);
}

void fork_guard_before(void)
{
    uint64_t ms = atomic_load(&guard.in_vain) ? 0 : FORK_GUARD_MS;
    forker_holds = thread_lock_within(&guard.lock, ms) == 0;
    if (!forker_holds) {
        atomic_store(&guard.in_vain, true);
    }
}

void fork_guard_in_parent(void)
{
    if (forker_holds) {
        pthread_mutex_unlock(&guard.lock);
    }
}

void fork_guard_in_child(void)
{
    pthread_mutex_init(&guard.lock, NULL);
    atomic_store(&guard.in_vain, false);
}
