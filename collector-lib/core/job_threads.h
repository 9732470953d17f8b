/* SPDX-License-Identifier: Apache-2.0 */
/* Whether any thread of the job itself is left. */
#ifndef GPUFL_COLLECTOR_CORE_JOB_THREADS_H
#define GPUFL_COLLECTOR_CORE_JOB_THREADS_H

#include <stdbool.h>

/** True once main has left by pthread_exit() and each other thread is one of
 * thread_start, or was made by one: without these the process would have ended with
 * status 0. */
bool job_threads_are_gone(void);

/** Ends the process, within a second, once they are: a thread that hangs in the GPU's
 * driver is left behind, and would keep the process for ever. */
void job_threads_watch(void);

#endif
