/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine is told of directories that are not watched, and the log once of each
 * owner. */
#ifndef GPUFL_AGENT_WATCH_WATCH_UNTOLD_H
#define GPUFL_AGENT_WATCH_WATCH_UNTOLD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/watch/watch_hints.h"
#include "agent/watch/watch_places.h"
#include "base/log.h"
#include "base/shares.h"

/** Zero-initialise, but for `log` and `hints`. */
struct watch_untold {
    const struct log *log;
    struct watch_hints *hints;
    struct shares said; /**< by owner */
    struct watch_place *first;
    unsigned count;
    _Atomic uint64_t incomplete_until_ms;
};

/** Adds a hint of \p place; \p mark as for watch_hints_add. \return false if there is no
 * room for more of its owner. */
bool watch_untold_tell(struct watch_untold *untold, struct watch_mark *mark,
                       const struct watch_place *place, enum watch_what what,
                       enum watch_told told);

/** Adds a hint of a directory that is not watched. */
void watch_untold_hint_at(struct watch_untold *untold, unsigned root,
                          const char *session);

/** Takes over \p place, which is in no table: tells \p what of it, and that it is refused
 * unless it is gone; now, or when there is room for that. */
void watch_untold_let_go(struct watch_untold *untold, struct watch_place *place,
                         enum watch_what what);

/** \return true if its owner may have \p place watched; else the log is told. */
bool watch_untold_has_room(struct watch_untold *untold, const struct watch_places *places,
                           const struct watch_place *place);

/** Takes over \p place, which is not watched, and tells \p what of it, unless it is a
 * group that was asked for: the next listing asks again. */
void watch_untold_refuse(struct watch_untold *untold, struct watch_place *place,
                         enum watch_what what);

/** Tries again what could not be told. */
void watch_untold_retry(struct watch_untold *untold);

/** Says why \p place is not watched, once for each owner. */
void watch_untold_say(struct watch_untold *untold, const struct watch_place *place,
                      const char *why);

/** What concerns all could not be watched, at \p path. It is tried again every second. */
void watch_untold_warn(struct watch_untold *untold, const char *path, int error);

void watch_untold_close(struct watch_untold *untold);

#endif
