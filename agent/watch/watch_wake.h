/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for events of inotify or for the end, whichever is first. The library waits for
 * its own descriptor alone, and does not tell which that is. */
#ifndef GPUFL_AGENT_WATCH_WATCH_WAKE_H
#define GPUFL_AGENT_WATCH_WATCH_WAKE_H

#include <stdbool.h>

struct watch_wake {
    int inotify; /**< -1 = not known */
    int event;   /**< eventfd(2) */
};

/** \return the number that the next descriptor gets which a process of one thread opens,
 * or -1. */
int watch_wake_next_fd(void);

/** \p inotify is borrowed. \return false with errno. */
bool watch_wake_open(struct watch_wake *wake, int inotify);

/** Ends the wait of another thread, and each later one. */
void watch_wake_up(const struct watch_wake *wake);

/** Waits up to \p wait_s. \return for how long the library has to wait: 0, or as long if
 * its descriptor is not known. */
int watch_wake_wait(const struct watch_wake *wake, int wait_s);

void watch_wake_close(struct watch_wake *wake);

#endif
