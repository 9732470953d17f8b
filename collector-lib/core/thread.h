/* SPDX-License-Identifier: Apache-2.0 */
/* The collector's own threads inside the job's process. */
#ifndef GPUFL_COLLECTOR_CORE_THREAD_H
#define GPUFL_COLLECTOR_CORE_THREAD_H

#include <pthread.h>

/** Of all threads of the collector. */
#define THREAD_NAMES "gpufl-"

/** Starts \p run(\p arg) with all signals blocked, since they are meant for the job. \p
 * name, THREAD_NAMES and more, at most 15 bytes, is what top -H shows. \return 0 or an
 * errno. */
int thread_start(pthread_t *out, const char *name, void *(*run)(void *), void *arg);

/** Initialises a condition that uses the monotonic clock, so that a step of the wall
 * clock does not disturb a wait. */
void thread_condition_init(pthread_cond_t *condition);

#endif
