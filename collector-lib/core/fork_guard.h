/* SPDX-License-Identifier: Apache-2.0 */
/* Makes fork() wait while a thread of ours is in dlopen(). glibc gives the child a new
 * heap lock, but the loader's state as it was: if a dlopen() was half done, the child
 * hangs in its own dlopen(), or an assertion ends it (glibc 2.36). */
#ifndef GPUFL_COLLECTOR_CORE_FORK_GUARD_H
#define GPUFL_COLLECTOR_CORE_FORK_GUARD_H

#include <pthread.h>
#include <stdbool.h>

/** The longest that fork() waits: our dlopen() may itself wait for the thread that forks.
 */
#define FORK_GUARD_MS 1000

/** Around anything that changes or walks the loader's list of libraries, and around the
 * opening and closing of a session's files, which a child closes. Do not nest. */
void fork_guard_enter(void);
void fork_guard_leave(void);

/** The handlers for pthread_atfork. */
void fork_guard_before(void);
void fork_guard_in_parent(void);
void fork_guard_in_child(void);

/** Whether this thread is in a handler of the job that is called between these, as one is
 * that was registered before the library was loaded: it must not wait for a thread of
 * ours, which may wait for it. */
bool fork_guard_forks(void);

/** The same in the child: who had a lock is not there. */
bool fork_guard_is_forsaken(void);

/** Locks, or \return EDEADLK in such a child. */
int fork_guard_lock(pthread_mutex_t *lock);

#endif
