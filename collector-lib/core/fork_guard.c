/* SPDX-License-Identifier: Apache-2.0 */
/* A lock that fork() waits for, at most FORK_GUARD_MS. */
#include "collector-lib/core/fork_guard.h"

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static __thread bool forker_holds;

void fork_guard_enter(void)
{
    pthread_mutex_lock(&guard);
}

void fork_guard_leave(void)
{
    pthread_mutex_unlock(&guard);
}

void fork_guard_before(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until); /* the clock of pthread_mutex_timedlock */
    until.tv_sec += FORK_GUARD_MS / 1000;
    forker_holds = pthread_mutex_timedlock(&guard, &until) == 0;
}

void fork_guard_in_parent(void)
{
    if (forker_holds) {
        pthread_mutex_unlock(&guard);
    }
}

void fork_guard_in_child(void)
{
    pthread_mutex_init(&guard, NULL);
}
