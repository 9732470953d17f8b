/* SPDX-License-Identifier: Apache-2.0 */
/* Answers claims that a session is complete. */
#include "backend/http/session_claim.h"

#include <inttypes.h>
#include <stdlib.h>

#include "backend/api/api_streams.h"
#include "backend/http/ingest.h"
#include "backend/http/positions_read.h"
#include "backend/store/store_completion.h"
#include "backend/store/store_sessions.h"

static int answer_ends(struct store *store, const char *session, int status,
                       struct text *answer)
{
    if (api_streams_members(store, session, answer) != GPUFL_OK) {
        text_clear(answer);
        return ingest_refuse(answer, 500, "store", "the database could not be read");
    }
    text_printf(answer, "}\n");
    return status;
}

/* To whom its directory belongs, the sender knows: it may say then that it reopens it. */
static int answer_owned(struct store *store, const char *session, struct text *answer)
{
    uint32_t owner;
    if (store_claimant(store, session, &owner) != GPUFL_OK) {
        return ingest_refuse(answer, 500, "store", "the database could not be read");
    }
    text_printf(answer,
                "{\"error\":\"owner\",\"owner\":%" PRIu32
                ",\"message\":\"the session was complete from the directory of another "
                "user, and this claim would change it\",",
                owner - 1);
    return answer_ends(store, session, 409, answer);
}

static int answer_claim(struct store *store, const struct store_claim *claim,
                        enum claim_verdict verdict, struct text *answer)
{
    switch (verdict) {
    case CLAIM_COMPLETE:
    case CLAIM_ENDED:
        text_printf(answer, "{\"complete\":%s,",
                    verdict == CLAIM_COMPLETE ? "true" : "false");
        return answer_ends(store, claim->session, 200, answer);
    case CLAIM_CONFLICT:
        text_printf(answer, "{\"error\":\"conflict\",\"message\":\"the streams of this "
                            "session end elsewhere\",");
        return answer_ends(store, claim->session, 409, answer);
    case CLAIM_OWNED:
        return answer_owned(store, claim->session, answer);
    case CLAIM_EXPIRED:
        return ingest_refuse(answer, 410, "expired",
                             "the lines of this session were deleted by retention");
    case CLAIM_UNKNOWN:
        break;
    }
    return ingest_refuse(answer, 404, "not_found", "no such session");
}

int session_claim_judge(struct store *store, const char *session, const struct text *body,
                        struct text *answer)
{
    struct store_claim claim = {.session = session};
    enum claim_verdict verdict;
    const char *fault = positions_read_claim(body->data, body->len, &claim);
    if (fault) {
        return ingest_refuse(answer, 400, "claim", fault);
    }
    int status = store_claim(store, &claim, &verdict) == GPUFL_OK
                     ? answer_claim(store, &claim, verdict, answer)
                     : ingest_refuse_unwritten(store, answer);
    free((void *)(uintptr_t)claim.channel);
    return status;
}
