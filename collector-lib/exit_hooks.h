/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers of exit() that end the session, before the GPU vendor's runtime has ended. */
#ifndef GPUFL_COLLECTOR_EXIT_HOOKS_H
#define GPUFL_COLLECTOR_EXIT_HOOKS_H

#include <stdbool.h>

/** Once a process: exit() calls \p stop, with the lock of all calls, or \p interrupted:
 * in a signal handler, which has interrupted who has the lock. \p before_runtime: the
 * vendor's runtime has not ended, unless it was set up during exit(). False without
 * memory. */
bool exit_hooks_prepare(void (*stop)(bool before_runtime, bool interrupted));

/** A session that traces begins: exit() calls \p stop before the handler of a runtime
 * that is there already, though \p before_runtime is not said. With the lock of all
 * calls. */
void exit_hooks_renew(void);

/** The runtime's library has told of a call, so that it is there. By any thread. */
void exit_hooks_at_first_call(void);

/** Whether it has, so that \p stop is called with \p before_runtime. */
bool exit_hooks_heard(void);

#endif
