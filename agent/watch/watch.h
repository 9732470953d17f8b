/* SPDX-License-Identifier: Apache-2.0 */
/* Notices changes by inotify. Events are only hints: a scan finds what they miss. */
#ifndef GPUFL_AGENT_WATCH_WATCH_H
#define GPUFL_AGENT_WATCH_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpufl/status.h>

#include "agent/watch/watch_hints.h"
#include "base/log.h"

struct watch;

/** Opens the inotify instance; call it first in main, while descriptors are low: the
 * library waits in select(2). \return false when the kernel has none left. */
bool watch_init(void);

/** Starts the thread. It calls \p wake when there are hints, and pauses \p nap_ms between
 * rounds of events. No more than \p max directories below the roots are watched, of each
 * owner a share. */
GPUFL_MUST gpufl_status watch_open(const struct log *log, uint64_t nap_ms, unsigned max,
                                   void (*wake)(void *arg), void *arg,
                                   struct watch **out);

/** What is asked for a directory. */
enum watch_ask {
    ASK_WATCH,
    ASK_WATCH_GROUP, /**< … and what is made in it, if half of its owner's share is free
                      */
    ASK_UNWATCH,     /**< for a root, with all that is below it */
};

/** Asks that of `<root_path>/<session>` (session "" = the root itself). What is watched
 * already stays so. Done on the watcher's thread. */
void watch_request(struct watch *watch, unsigned root, const char *root_path,
                   const char *session, enum watch_ask ask);

/** Takes all hints: \p first is the first of them, valid until the next call.
 *  \return how many there are. */
size_t watch_take(struct watch *watch, const struct watch_hint **first);

/** True, once, when events were lost: scan everything. */
bool watch_overflowed(struct watch *watch);

/** True when a root could not be watched, or there were no watches left, within the last
 * seconds: poll. */
bool watch_incomplete(const struct watch *watch);

/** Ends the thread within a second. NULL is fine. */
void watch_close(struct watch *watch);

#endif
