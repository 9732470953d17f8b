/* SPDX-License-Identifier: Apache-2.0 */
/* A table of descriptors that one thread has for itself. */
#ifndef GPUFL_COLLECTOR_FILES_OWN_TABLE_H
#define GPUFL_COLLECTOR_FILES_OWN_TABLE_H

#include <stdbool.h>

#include "collector-lib/core/thread.h"

/** Gives this thread a table of its own, in which no file of the job is open and which
 * the job cannot touch. \return false where that is not to be had: before Linux 5.9; in a
 * process with a filter of system calls, which might end it for the call; and if the job
 * has a message queue. \p holds_low: whether the low numbers are taken, so that no file
 * gets one. */
bool own_table_take(bool *holds_low);

/** On a thread that holds them: gives the low numbers to files, if the job's limit of
 * descriptors leaves no others. \return false then. */
bool own_table_keep_low(void);

/** Calls \p what(\p arg), which opens files and closes them again, on a thread of that
 * \p kind with a table of its own, and waits until it has returned; or directly, if
 * own_table_take() was not called before, or found that none is to be had. */
void own_table_call(enum thread_kind kind, void (*what)(void *arg), void *arg);

#endif
