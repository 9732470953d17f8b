/* SPDX-License-Identifier: Apache-2.0 */
/* Makes fork() wait while a thread of ours is in dlopen(). glibc gives the child a new
 * heap lock, but the loader's state as it was: if a dlopen() was half done, the child
 * hangs in its own dlopen(), or an assertion ends it (glibc 2.36). */
#ifndef GPUFL_COLLECTOR_CORE_FORK_GUARD_H
#define GPUFL_COLLECTOR_CORE_FORK_GUARD_H

#include <pthread.h>
#include <stdbool.h>

/** The longest that fork() waits for each lock: our dlopen() may itself wait for the
 * thread that forks. */
#define FORK_GUARD_MS 1000

/** Around the opening and closing of a session's files, which a child closes, and
 * around what walks the loader's list of libraries. Do not nest. */
void fork_guard_enter(void);
void fork_guard_leave(void);

/** Around anything that loads or looks up, which waits for what others load: code of a
 * library that is loaded may be slow, or hang. Only threads of ours for which nobody
 * waits may load by the first one; the second one waits as fork() does, \return false if
 * that was in vain. No files are opened or closed meanwhile by the one who loads. */
void fork_guard_load(void);
bool fork_guard_load_soon(void);
void fork_guard_loaded(void);

/** Whether a thread of ours loads a library now. */
bool fork_guard_loads(void);

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
