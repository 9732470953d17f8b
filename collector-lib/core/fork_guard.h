/* SPDX-License-Identifier: Apache-2.0 */
/* What our threads must not be in the middle of while the job forks. glibc gives the
 * child a new heap lock, but the loader as it stood: where a dlopen of ours was half
 * done, the child's own dlopen waits for ever, or its assertion ends the child
 * (glibc 2.36). */
#ifndef GPUFL_COLLECTOR_CORE_FORK_GUARD_H
#define GPUFL_COLLECTOR_CORE_FORK_GUARD_H

/** A fork waits no longer: who forks may itself be what we wait for. */
#define FORK_GUARD_MS 1000

/** Around what changes or walks the loader's list. Not nested. */
void fork_guard_enter(void);
void fork_guard_leave(void);

/** For pthread_atfork. */
void fork_guard_before(void);
void fork_guard_in_parent(void);
void fork_guard_in_child(void);

#endif
