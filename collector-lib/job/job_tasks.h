/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel tells of the threads of this process. */
#ifndef GPUFL_COLLECTOR_JOB_JOB_TASKS_H
#define GPUFL_COLLECTOR_JOB_JOB_TASKS_H

#include <signal.h>
#include <stdbool.h>

#define TASK_NAME_BYTES 24

/** The name that this thread has in /proc/self/task. \return \p task. Takes no lock. */
const char *job_tasks_name_this(char task[TASK_NAME_BYTES]);

enum job_task {
    JOB_TASK_ENDED,
    JOB_TASK_GONE,
    JOB_TASK_OURS,
    JOB_TASK_KERNELS, /**< works for io_uring, and goes with the process */
    JOB_TASK_JOBS,
    JOB_TASK_UNKNOWN, /**< cannot be looked at: it may be there */
};

/** \return JOB_TASK_ENDED if main has left by pthread_exit() and each other thread is one
 * of thread_start, was made by one, or is the kernel's; JOB_TASK_UNKNOWN, with errno, if
 * that cannot be told; or else the first one that is there. \p main_left: it has said
 * that it leaves, which counts where it cannot be looked at. */
enum job_task job_tasks_look(bool main_left);

/** Whether no other thread of THREAD_LAST has a lower number, or that cannot be told. */
bool job_tasks_last_is_first(void);

/** The signals that main blocks, or blocked when it left. False if they are not known. */
bool job_tasks_mask_of_main(sigset_t *mask);

/** How main, which has left, did so, as wait(2) would tell it: 0, or what it has called
 * _exit(2) of the kernel with, which ends a thread alone, or the signal by which
 * seccomp(2) has ended it. 0 if that is not known. */
int job_tasks_status_of_main(void);

/** Whether descriptors are kept for all this, since the job may use up all others. Does
 * nothing if a look at the threads does not end within 100 ms. */
void job_tasks_keep(bool keep);

/** In the child of a fork, which keeps none. */
void job_tasks_after_fork(void);

#endif
