/* SPDX-License-Identifier: Apache-2.0 */
/* The state of an engine, which its roots, sessions, streams and offers refer to. */
#ifndef GPUFL_UPLOAD_CORE_ENGINE_STATE_H
#define GPUFL_UPLOAD_CORE_ENGINE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/shares.h"
#include "base/text.h"
#include "upload/core/counters.h"
#include "upload/core/engine_config.h"
#include "upload/core/origin.h"
#include "upload/core/path_table.h"
#include "upload/core/trouble.h"
#include "upload/owners/lanes.h"
#include "upload/owners/owners.h"
#include "upload/owners/standing.h"
#include "upload/owners/visits.h"
#include "upload/pace/bucket.h"
#include "upload/source/gz_cache.h"

#define ENGINE_ROOTS_MAX 64u
/** A journal that could not be written is retried after this time. */
#define JOURNAL_RETRY_MS 5000u
/** Another frame may be made while those in flight are no larger than this: eight of the
 * usual size. */
#define FRAME_BYTES_IN_FLIGHT (8u << 18)

struct encoder;
struct frames;
struct listing;
struct offer;
struct root;
struct session;

/** What lifecycle/alive.h keeps. */
struct alive {
    struct text body; /**< of the request under way */
    bool in_flight;
    uint64_t next_ms; /**< when it is due to look again which sessions are silent */
};

struct claim_sought;

/** What engine/claim_search.h keeps. */
struct claim_search {
    struct claim_sought *sought; /**< so many … */
    unsigned count;
    struct shares owners;    /**< … of each owner */
    struct listing *listing; /**< under way, or NULL */
    struct listing *below;   /**< of a directory in that */
    struct root *of;         /**< which it lists */
    unsigned roots;          /**< so many have had their turn */
    bool wanted;             /**< a session waits that was not sought yet */
};

struct engine {
    struct engine_config config;
    struct owners owners;
    struct trouble trouble;
    struct origin origin;
    struct alive alive;
    struct counters counters;
    struct bucket bucket;
    struct encoder *encoder;
    struct frames *frames;
    char *raw; /**< lines as they were read */
    size_t raw_cap;
    struct gz_cache gz;
    struct root *root[ENGINE_ROOTS_MAX];
    unsigned roots;
    struct path_table claims; /**< see core/claims.h */
    struct claim_search search;
    struct shares shares;  /**< bytes that are kept of the directories of each owner */
    struct shares ranges;  /**< those in quarantine, of each owner */
    bool ranges_left;      /**< some are not any more: see core/room.h */
    bool ranges_wait;      /**< streams may be held until then */
    struct shares in_turn; /**< sessions on their way, see session_begin_turn() */
    struct visit_queue visits; /**< sessions to be inspected */
    struct session *later;     /**< to be inspected after the flush interval, in order */
    struct session **later_last;
    struct session *completing; /**< sessions in that state, and some that were */
    unsigned completing_count;
    struct turns complete_turns;  /**< of their owners, with session-complete */
    struct turns decode_turns;    /**< likewise, with offers that are `decoding` */
    struct turns send_turns;      /**< likewise, with offers that were sent */
    struct turns offer_owners;    /**< whose offers wait: those that had a turn … */
    uint64_t offer_owners_before; /**< … after this one */
    struct standing standing;
    struct lanes live; /**< streams that wait for their turn, of each owner */
    struct lanes backlog;
    struct lanes bulk; /**< of the backlog, those whose last batch was full, while there
                          is a budget: full ones do not count in it */
    unsigned live_in_a_row;  /**< turns since one of the backlog */
    unsigned small_in_a_row; /**< turns since one of the bulk */
    unsigned full_offers;    /**< as of send_order_count_full */
    unsigned full_in_flight; /**< likewise */
    struct offer *offers;
    size_t frame_bytes;        /**< of all offers */
    uint64_t made_bytes;       /**< raw bytes that were put into frames last time … */
    uint64_t made_frame_bytes; /**< … and how large these are */
    unsigned streams_done_before; /**< of sessions that were complete when we began */
    size_t salvage_left; /**< bytes of `.tmp` that may still be read in this turn, … */
    bool salvage_lists_many; /**< … and whether a long one may be listed */
    bool wants_more; /**< requests could be made, and nothing that is open is ready */
    bool polling;    /**< no watcher reports changes */
    uint64_t unpolled_interval_ms; /**< between listings, when that is over */
    bool at_quota;    /**< by the last answer that concerned it, there is no room */
    int quota_status; /**< that was 402, or 0 = a verdict */
    bool skew_said;
};

#endif
