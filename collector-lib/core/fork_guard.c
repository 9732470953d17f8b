/* SPDX-License-Identifier: Apache-2.0 */
/* Two locks that fork() waits for, at most FORK_GUARD_MS each: who closes a file does not
 * wait for a library that is being loaded. */
#include "collector-lib/core/fork_guard.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

#include "collector-lib/core/thread.h"

enum guard_of { GUARD_LOADER, GUARD_FILES, GUARDS };

static struct {
    pthread_mutex_t lock;
    _Atomic bool in_vain; /* somebody has waited for what holds it now, which may hang */
    _Atomic bool loads;   /* it is not held by fork() */
} guard[GUARDS] = {{.lock = PTHREAD_MUTEX_INITIALIZER},
                   {.lock = PTHREAD_MUTEX_INITIALIZER}};

/* The handlers of fork() run on the thread that calls it. */
static __thread struct {
    pid_t parent; /* 0 = it is not in fork(), or ours have run */
    bool holds[GUARDS];
} forker;

static bool guard_lock_soon(enum guard_of what)
{
    uint64_t ms = atomic_load(&guard[what].in_vain) ? 0 : FORK_GUARD_MS;
    bool locked = thread_lock_within(&guard[what].lock, ms) == 0;
    if (!locked) {
        atomic_store(&guard[what].in_vain, true);
    }
    return locked;
}

static void guard_unlock(enum guard_of what)
{
    atomic_store(&guard[what].in_vain, false);
    pthread_mutex_unlock(&guard[what].lock);
}

void fork_guard_enter(void)
{
    pthread_mutex_lock(&guard[GUARD_FILES].lock);
}

void fork_guard_leave(void)
{
    guard_unlock(GUARD_FILES);
}

void fork_guard_load(void)
{
    pthread_mutex_lock(&guard[GUARD_LOADER].lock);
    atomic_store(&guard[GUARD_LOADER].loads, true);
}

bool fork_guard_load_soon(void)
{
    bool locked = guard_lock_soon(GUARD_LOADER);
    if (locked) {
        atomic_store(&guard[GUARD_LOADER].loads, true);
    }
    return locked;
}

void fork_guard_loaded(void)
{
    atomic_store(&guard[GUARD_LOADER].loads, false);
    guard_unlock(GUARD_LOADER);
}

bool fork_guard_loads(void)
{
    return atomic_load(&guard[GUARD_LOADER].loads);
}

void fork_guard_before(void)
{
    for (int i = 0; i < GUARDS; i++) {
        forker.holds[i] = guard_lock_soon((enum guard_of)i);
    }
    forker.parent = getpid();
}

void fork_guard_in_parent(void)
{
    forker.parent = 0;
    for (int i = 0; i < GUARDS; i++) {
        if (forker.holds[i]) {
            guard_unlock((enum guard_of)i);
        }
    }
}

void fork_guard_in_child(void)
{
    forker.parent = 0;
    for (int i = 0; i < GUARDS; i++) {
        pthread_mutex_init(&guard[i].lock, NULL);
        atomic_store(&guard[i].in_vain, false);
        atomic_store(&guard[i].loads, false);
    }
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
