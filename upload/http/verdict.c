/* SPDX-License-Identifier: Apache-2.0 */
/* Maps each HTTP status, with what is known about the batch, to a verdict. */
#include "upload/http/verdict.h"

static enum verdict conflict(const struct verdict_case *c)
{
    if (c->identity_conflict) {
        /* Same id, same range, other bytes: after a change of codec it is our own batch.
         */
        return c->encoding_changed ? VERDICT_ACKED : VERDICT_QUARANTINE;
    }
    if (c->sequence_conflict) {
        return VERDICT_QUARANTINE;
    }
    return c->maybe_stored ? VERDICT_ACKED : VERDICT_REFUSED_FINAL;
}

enum verdict verdict_of(const struct verdict_case *c)
{
    if (c->status >= 200 && c->status <= 299) {
        return c->web_page ? VERDICT_HOLD_ORIGIN : VERDICT_ACKED;
    }
    switch (c->status) {
    case 0:
    case 408:
    case 425:
    case 429:
        return VERDICT_RETRY;
    case 402:
        return VERDICT_HOLD_SESSION;
    case 400:
    case 413:
    case 422:
        return c->can_split ? VERDICT_SPLIT : VERDICT_QUARANTINE;
    case 409:
        return conflict(c);
    case 415:
        return c->is_plain_codec ? VERDICT_HOLD_ORIGIN : VERDICT_PLAIN_CODEC;
    case 501:
        return VERDICT_HOLD_ORIGIN;
    default:
        return c->status >= 500 ? VERDICT_RETRY : VERDICT_HOLD_ORIGIN;
    }
}
