/* SPDX-License-Identifier: Apache-2.0 */
/* The thread on which a session's files are opened, written and closed. It has a table of
 * descriptors of its own, where that can be had: the job, which may close what it did not
 * open, or put its own files there, can touch none of it, nor be hurt by it. */
#ifndef GPUFL_COLLECTOR_FILES_FILES_THREAD_H
#define GPUFL_COLLECTOR_FILES_FILES_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "collector-lib/core/thread.h"

/** Starts it, unless it is there. Where it cannot be started, calls run where they are
 * made. */
void files_thread_begin(void);

/** Calls \p what(\p arg) on it and waits until that has returned. On it, or without it,
 * calls directly. Sets errno as the call did. What the call has to say is passed on by
 * the thread that waits: the program's function, and standard error, are of the job's
 * table. */
void files_thread_do(void (*what)(void *arg), void *arg);

/** The same until \p by_ns of clock_mono_ns() at most. \return false if it has not
 * returned by then: it still has what it uses, and files_thread_await() waits for it. */
bool files_thread_do_by(void (*what)(void *arg), void *arg, int64_t by_ns);

/** Waits for what was given up. */
void files_thread_await(void);

/** Whether it is there and has a table of its own. */
bool files_thread_is_apart(void);

/** Calls \p what(\p arg), which does not hang, on it, if it is apart, and does nothing
 * else within \p ms. \return false if it was not called. */
bool files_thread_try(void (*what)(void *arg), void *arg, uint64_t ms);

/** Calls \p what(\p arg), which leaves no file open that it opens, as to load a library,
 * on a thread of that \p kind that has a table of its own for this alone, and waits until
 * it has returned; or directly, if the thread of files has none of its own, or is busy.
 */
void files_thread_call_apart(enum thread_kind kind, void (*what)(void *arg), void *arg);

/** Ends it, once what it was asked has returned. */
void files_thread_end(void);

/** In the child of a fork, which has not this thread. \return true if the child has its
 * descriptors, and is to close them. */
bool files_thread_after_fork(void);

#endif
