/* SPDX-License-Identifier: Apache-2.0 */
/* Signals that a write of ours raises do not reach the program whose thread we are on. */
#ifndef GPUFL_BASE_HELD_SIGNALS_H
#define GPUFL_BASE_HELD_SIGNALS_H

#include <signal.h>
#include <time.h>

struct held_signals {
    sigset_t mask, pending; /* before */
};

/** Blocks \p signals, up to a 0, on this thread. */
static inline void held_signals_begin(struct held_signals *held, const int *signals)
{
    sigset_t all;
    sigemptyset(&all);
    for (; *signals; signals++) {
        sigaddset(&all, *signals);
    }
    pthread_sigmask(SIG_BLOCK, &all, &held->mask);
    sigpending(&held->pending);
}

/** Takes \p raised, 0 = none, if it pends and did not before, and unblocks what was not
 * blocked. */
static inline void held_signals_end(const struct held_signals *held, int raised)
{
    const struct timespec at_once = {0};
    sigset_t one;
    if (raised && !sigismember(&held->pending, raised)) {
        sigemptyset(&one);
        sigaddset(&one, raised);
        sigtimedwait(&one, NULL, &at_once);
    }
    pthread_sigmask(SIG_SETMASK, &held->mask, NULL);
}

#endif
