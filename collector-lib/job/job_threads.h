/* SPDX-License-Identifier: Apache-2.0 */
/* Whether any thread of the job itself is left. */
#ifndef GPUFL_COLLECTOR_JOB_JOB_THREADS_H
#define GPUFL_COLLECTOR_JOB_JOB_THREADS_H

#include <stdbool.h>

/** Once a process, before the first session; \p end_session ends one. */
void job_threads_prepare(void (*end_session)(void));

/** True once main has left, as by pthread_exit(), and each other thread is one of
 * thread_start, was made by one, or is the kernel's: without these the process would have
 * ended. While a session runs, descriptors are kept to look at them by. */
bool job_threads_are_gone(void);

/** A session begins on this thread, or has ended. While it runs, a thread watches once
 * main has left, since each other one of ours may hang; from the begin, if main will not
 * say that it leaves, as it was not on main that the library was loaded. Where the job's
 * threads cannot be looked at, the session ends with main. The end waits for the thread,
 * so that the last one to end is not ours. */
void job_threads_begin(void);
void job_threads_end(void);

/** Ends the process by exit(), some 100 ms after the job's threads are gone: a thread
 * that hangs in the GPU's driver or the disk is left behind, and would keep the process
 * for ever. \return false without memory for a thread that watches. */
bool job_threads_watch(void);

/** Calls exit() as the C library does when the last thread ends, with the signals of
 * main, and with its status if it has ended itself by one: handlers of the program run.
 * Returns if another thread does it, also one of another copy of the library. */
void job_threads_exit(void);

/** In the child of a fork. */
void job_threads_after_fork(void);

#endif
