/* SPDX-License-Identifier: Apache-2.0 */
/* Starts threads that take no signals, and makes conditions on the monotonic clock. */
#include "collector-lib/core/thread.h"

#include <signal.h>
#include <time.h>

int thread_start(pthread_t *out, const char *name, void *(*run)(void *), void *arg)
{
    sigset_t all;
    sigset_t old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int rc = pthread_create(out, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc == 0) {
        pthread_setname_np(*out, name);
    }
    return rc;
}

void thread_condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attr);
    pthread_condattr_destroy(&attr);
}
