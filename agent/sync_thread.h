/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that syncs files, so that a slow disk holds up neither sockets nor signals. */
#ifndef GPUFL_AGENT_SYNC_THREAD_H
#define GPUFL_AGENT_SYNC_THREAD_H

#include <gpufl/status.h>

#include "upload/journal/syncer.h"

struct sync_thread;

/** Starts it. \p wake is called, from the thread, after each finished job. */
GPUFL_MUST gpufl_status sync_thread_open(const struct sys *sys, void (*wake)(void *arg),
                                         void *arg, struct sync_thread **out);

/** The interface that the engine is given. */
struct syncer sync_thread_syncer(struct sync_thread *thread);

/** Finishes the jobs under way and ends the thread. NULL is fine. */
void sync_thread_close(struct sync_thread *thread);

#endif
