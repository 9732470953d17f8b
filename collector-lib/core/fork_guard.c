/* SPDX-License-Identifier: Apache-2.0 */
/* A lock that fork() waits for, at most FORK_GUARD_MS. */
#include "collector-lib/core/fork_guard.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

#include "collector-lib/core/thread.h"

static struct {
    pthread_mutex_t lock;
    _Atomic bool in_vain; /* a fork has waited for what holds it now, which may hang */
} guard = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The handlers of fork() run on the thread that calls it. */
static __thread struct {
    pid_t parent; /* 0 = it is not in fork(), or ours have run */
    bool holds;
} forker;

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
    forker.holds = thread_lock_within(&guard.lock, ms) == 0;
    if (!forker.holds) {
        atomic_store(&guard.in_vain, true);
    }
    forker.parent = getpid();
}

void fork_guard_in_parent(void)
{
    forker.parent = 0;
    if (forker.holds) {
        pthread_mutex_unlock(&guard.lock);
    }
}

void fork_guard_in_child(void)
{
    forker.parent = 0;
    pthread_mutex_init(&guard.lock, NULL);
    atomic_store(&guard.in_vain, false);
}

bool fork_guard_forks(void)
{
    return forker.parent;
}

bool fork_guard_is_forsaken(void)
{
    return forker.parent && forker.parent != getpid();
}

int fork_guard_lock(pthread_mutex_t *lock)
{
    return fork_guard_is_forsaken() ? EDEADLK : pthread_mutex_lock(lock);
}
