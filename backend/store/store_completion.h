/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a session is complete, and the claims that make it so. */
#ifndef GPUFL_BACKEND_STORE_STORE_COMPLETION_H
#define GPUFL_BACKEND_STORE_STORE_COMPLETION_H

#include <stddef.h>

#include "backend/store/store_streams.h"

/** What a sender claims of a session: the end of each of its streams. */
struct store_claim {
    const char *session;
    const struct claim_channel {
        char channel[LAYOUT_CHANNEL_MAX + 1];
        struct stream_place end;
        bool lost_after; /**< what follows is gone */
    } * channel;
    size_t channels;
    bool without_positions; /**< it has lines of others, which go by none */
    bool reopens; /**< it may change a session whose owner is another one, or not told */
    uint32_t owner; /**< of its directory: uid plus one, 0 = not told */
};

/** True if it says of a channel that nothing of it came, and that all of it is lost. */
bool claim_is_of_nothing(const struct claim_channel *claimed);

enum claim_verdict {
    CLAIM_COMPLETE, /**< all of it is stored; verified if all channels have positions */
    CLAIM_ENDED,    /**< the same, except for what was lost or skipped */
    CLAIM_CONFLICT, /**< the streams, or their ends, are others */
    CLAIM_EXPIRED,
    CLAIM_OWNED,   /**< it would change a session whose owner it does not name */
    CLAIM_UNKNOWN, /**< no such session */
};

/** Compares a claim with what is stored, and notes the outcome, in one transaction. One
 * without channels is the word of a sender that knows no positions: it is taken where no
 * stream has any. */
GPUFL_MUST gpufl_status store_claim(struct store *store, const struct store_claim *claim,
                                    enum claim_verdict *verdict);

#endif
