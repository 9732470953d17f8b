/* SPDX-License-Identifier: Apache-2.0 */
/* The lock that calls of the API take in turn, none of which may wait for ever. */
#ifndef GPUFL_COLLECTOR_CALL_LOCK_H
#define GPUFL_COLLECTOR_CALL_LOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/held_floats.h"

/** As long as another call may take to end a session, in ms, and the program's function
 * for messages to return; the default is that of a session with default settings. */
void call_lock_patience(uint64_t ms);
uint64_t call_lock_patience_ms(void);

/** While a session of \p process runs (0 = none does), no other has the lock: a child of
 * _Fork() or clone(2), for which no handler of fork() has run, may share the memory and
 * the descriptors of its parent, and the lock may be held for ever. */
void call_lock_keep_for(pid_t process);

/** Whether this process is such a child. */
bool call_lock_is_others(void);

/** \return 0: taken; ETIMEDOUT, with a message of \p call; EDEADLK: a signal handler
 * has interrupted the function that has it; EAGAIN: in fork(), see fork_guard_forks;
 * or ECHILD: see call_lock_keep_for.
 */
int call_lock_soon(const char *call);

/** What a thread of the program has while it is in a call of ours. */
struct call_hold {
    int cancel_state;
    struct held_floats floats;
};

/** The same, and disables cancellation: a thread that is cancelled while it waits for the
 * writer would keep the lock. \return false with errno EBUSY, EDEADLK,
 * EAGAIN or ECHILD. */
bool call_lock_enter(const char *call, struct call_hold *hold);

/** Takes it if it becomes free within 200 ms, longer than most calls have it; not if this
 * thread has it. */
bool call_lock_try(struct call_hold *hold);

void call_lock_leave(const struct call_hold *hold);

/** Releases what call_lock_soon has taken. */
void call_lock_release(void);

/** In a forked child: it may have been held by another thread. */
void call_lock_after_fork(void);

#endif
