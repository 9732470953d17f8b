/* SPDX-License-Identifier: Apache-2.0 */
/* Makes fork() wait while a thread of ours is in dlopen(). glibc gives the child a new
 * heap lock, but the loader's state as it was: if a dlopen() was half done, the child
 * hangs in its own dlopen(), or an assertion ends it (glibc 2.36). */
#ifndef GPUFL_COLLECTOR_CORE_FORK_GUARD_H
#define GPUFL_COLLECTOR_CORE_FORK_GUARD_H

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

#endif
