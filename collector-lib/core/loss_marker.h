/* SPDX-License-Identifier: Apache-2.0 */
/* The file that says that lines of a session are lost: with it, no reader takes the
 * session for complete. */
#ifndef GPUFL_COLLECTOR_CORE_LOSS_MARKER_H
#define GPUFL_COLLECTOR_CORE_LOSS_MARKER_H

#include <stdbool.h>
#include <stdint.h>

struct loss_marker {
    const char *category; /* "spool", or a channel */
    unsigned index;
    const char *reason;
    int64_t first_ns, last_ns; /* wall clock */
    uint64_t lines;
};

/** Writes the marker, in place of one of its category and index; on a full disk, over
 * what is there already. \return false with errno if it could not. */
bool loss_marker_write(int dir, const struct loss_marker *marker);

/** Removes it: what it told of is not lost. */
void loss_marker_remove(int dir, const char *category, unsigned index);

/** Keeps room for a marker, where that is possible: a file that becomes the marker. */
void loss_marker_reserve(int dir);

/** Gives that room back. */
void loss_marker_release(int dir);

#endif
