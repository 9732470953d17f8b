/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of our own inside the job's process. */
#ifndef GPUFL_COLLECTOR_CORE_THREAD_H
#define GPUFL_COLLECTOR_CORE_THREAD_H

#include <pthread.h>

/** Starts \p run(\p arg) with all signals blocked: they are the job's. \p name, at most
 * 15 bytes, is what top -H shows. \return 0, or an errno. */
int thread_start(pthread_t *out, const char *name, void *(*run)(void *), void *arg);

/** A condition on the monotonic clock: a stepped wall clock must not stop a wait. */
void thread_condition_init(pthread_cond_t *condition);

#endif
