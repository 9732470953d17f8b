/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine has done since it started, broken down as it is exported. The tables
 * are bounded: statuses and channels that do not fit are counted in the last entry. */
#ifndef GPUFL_UPLOAD_CORE_COUNTERS_H
#define GPUFL_UPLOAD_CORE_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/layout.h"
#include "upload/core/held.h"
#include "upload/http/transport.h"

#define COUNTERS_STATUSES_MAX  32u
#define COUNTERS_CHANNELS_MAX  16u
#define COUNTERS_OTHER_STATUS  (-1)
#define COUNTERS_OTHER_CHANNEL "other"

/** How often each status occurred, in the order in which they first did. */
struct counters_statuses {
    struct {
        int status;
        uint64_t count;
    } at[COUNTERS_STATUSES_MAX];
    unsigned used;
};

/** What has been acknowledged of a channel. */
struct counters_channel {
    char name[LAYOUT_CHANNEL_MAX + 1];
    uint64_t lines;
    uint64_t batches;
    uint64_t windows;
};

/** Lines, and their bytes in files. */
struct counters_amount {
    uint64_t lines; /**< of a window, those that the backend counted */
    uint64_t bytes;
};

/** What becomes of what was read, besides acknowledgement: it ends in one of these, waits
 * in an offer, or is to be read again. */
enum counters_fate {
    COUNTERS_ELSEWHERE,   /**< another uploader had sent it, as its cursor and the backend
                             say */
    COUNTERS_QUARANTINED, /**< put into quarantine */
    COUNTERS_CLOSED,      /**< refused: the backend had closed the session */
    COUNTERS_TORN,        /**< its writer did not finish the line */
    COUNTERS_GIVEN_UP,    /**< by a person */
    COUNTERS_FORGOTTEN,   /**< its directory was gone for too long */
    COUNTERS_FATES
};

struct counters {
    struct counters_amount read; /**< without what is to be read again */
    struct counters_amount fate[COUNTERS_FATES];
    uint64_t files_acked; /**< files of which something was acknowledged */
    uint64_t batches_acked;
    uint64_t windows_acked;
    uint64_t lines_acked;
    uint64_t file_bytes_acked; /**< of files, windows as they lie on disk */
    uint64_t sent_bytes;       /**< bodies, as sent */
    uint64_t compared_bytes;   /**< see session_note_compared */
    uint64_t requests;
    uint64_t windows_renamed; /**< whose id the backend knew with other content */
    uint64_t lines_rejected;  /**< the backend took the batch but not these */
    uint64_t lines_refused_final;
    struct counters_statuses answers;     /**< to all requests; 0 = none came */
    struct counters_statuses quarantined; /**< ranges; 0 = for a local reason */
    uint64_t retries[TRANSPORT_FAILURES]; /**< of batches, by the kind of failure */
    uint64_t lost_windows; /**< files deleted before they were sent, at least */
    uint64_t lost[HELD_REASONS_COUNT]; /**< how often a person gave something up */
    uint64_t refused_names; /**< names that may hold records and are not read */
    struct counters_channel channel[COUNTERS_CHANNELS_MAX];
    unsigned channels;
    uint64_t last_success_ms; /**< on the engine's clock; 0 = never */
    int64_t clock_skew_s;     /**< the backend's clock minus ours, at its last answer */
    bool clock_skew_known;
};

void counters_add(struct counters_amount *amount, uint64_t lines, uint64_t bytes);

void counters_note_status(struct counters_statuses *statuses, int status);

/** \return the entry of a channel, never NULL. */
struct counters_channel *counters_channel(struct counters *counters, const char *name);

/** Counts a request that is to be repeated after \p reply. */
void counters_note_retry(struct counters *counters, const struct transport_reply *reply);

#endif
