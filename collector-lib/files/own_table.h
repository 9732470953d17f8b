/* SPDX-License-Identifier: Apache-2.0 */
/* A table of descriptors that one thread has for itself. */
#ifndef GPUFL_COLLECTOR_FILES_OWN_TABLE_H
#define GPUFL_COLLECTOR_FILES_OWN_TABLE_H

#include <stdbool.h>

/** Whether this thread has a filter of system calls, or that cannot be told. One that
 * does not know what own_table_take() calls may kill the process for it. Opens a file of
 * /proc. */
bool own_table_is_filtered(void);

/** Gives this thread, which has no filter, a table of its own, in which no file of the
 * job is open and which the job cannot touch. \return false where that is not to be had:
 * before Linux 5.9, and if the job has a message queue. \p holds_low: whether the low
 * numbers are taken, so that no file gets one. */
bool own_table_take(bool *holds_low);

/** On a thread that holds them: gives the low numbers to files, if the job's limit of
 * descriptors leaves no others. \return false then. */
bool own_table_keep_low(void);

#endif
