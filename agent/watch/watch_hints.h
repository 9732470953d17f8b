/* SPDX-License-Identifier: Apache-2.0 */
/* Hints gathered by the watcher's thread and taken by the engine's: two halves that swap,
 * so that neither waits for the other. */
#ifndef GPUFL_AGENT_WATCH_HINTS_H
#define GPUFL_AGENT_WATCH_HINTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/shares.h"
#include "schema/layout.h"

#define WATCH_HINTS_MAX 8192u

/** Longest path of a session below its root: a group and the session. */
#define WATCH_SESSION_MAX (2 * (LAYOUT_NAME_MAX + 1))

enum watch_what {
    HINT_NOTHING,   /**< there is only something to tell */
    HINT_GREW,      /**< its files grew and nothing else happened */
    HINT_CHANGED,   /**< anything */
    HINT_UNWATCHED, /**< the directory was removed, and its watch with it */
};

/** Whether a directory is watched, where the engine does not know it. */
enum watch_told {
    TOLD_NOTHING,
    TOLD_WATCHED, /**< although nobody has asked for that */
    TOLD_REFUSED, /**< it is to be polled, as its owner has its share of watches, say */
};

/** One hint. */
struct watch_hint {
    unsigned root;
    enum watch_what what;
    enum watch_told told;
    char file[LAYOUT_NAME_MAX + 1];  /**< HINT_GREW: which file, "" = several */
    char session[WATCH_SESSION_MAX]; /**< "" = somewhere in the root */
};

/** Something that happened; the strings are only read. */
struct watch_news {
    unsigned root;
    enum watch_what what;
    const char *file;
    const char *session;
    enum watch_told told;
    uint32_t owner; /**< in whose share it is counted */
};

/** The hint that a directory got last; zero-initialise. */
struct watch_mark {
    uint64_t round;
    size_t hint;
};

struct watch_half {
    struct watch_hint hint[WATCH_HINTS_MAX];
    size_t count;
    struct shares shares; /**< of the hints, by owner */
};

struct watch_hints {
    pthread_mutex_t lock; /* of what follows */
    struct watch_half half[2];
    uint64_t round; /* its last bit is the half to add to; never 0 */
    _Atomic bool overflowed;
};

void watch_hints_init(struct watch_hints *hints);

/** Adds \p news as a hint, or joins it to the one of this round that \p mark names. \p
 * mark may be NULL. \return false if there is no room for more of its owner. */
bool watch_hints_add(struct watch_hints *hints, struct watch_mark *mark,
                     const struct watch_news *news);

/** Reports lost events at the next watch_hints_overflowed. */
void watch_hints_set_overflowed(struct watch_hints *hints);

/** Takes all hints: \p first is the first of them, valid until the next call.
 *  \return how many there are. */
size_t watch_hints_take(struct watch_hints *hints, const struct watch_hint **first);

/** True, once, when hints or events were lost. */
bool watch_hints_overflowed(struct watch_hints *hints);

void watch_hints_fini(struct watch_hints *hints);

#endif
