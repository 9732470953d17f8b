/* SPDX-License-Identifier: Apache-2.0 */
/* Tells failures of the origin from those of one owner's requests. */
#include "upload/core/owner_standing.h"

#include "upload/core/engine_state.h"
#include "upload/core/origin_proof.h"
#include "upload/core/registry.h"

/* While the origin fails, one request at a time is under way; of owners that have not
 * failed up to so many, as one that gets no answer takes long. */
#define UNTRIED_AT_ONCE 4u

void owner_ok(const struct session *session)
{
    struct engine *engine = session->root->engine;
    origin_ok(&engine->origin);
    standing_ok(&engine->standing, session_lane(session));
}

bool owner_failed(const struct session *session, uint64_t now_ms)
{
    struct engine *engine = session->root->engine;
    return standing_failed(&engine->standing, session_lane(session), now_ms);
}

bool owner_may_go(const struct session *session, uint64_t now_ms)
{
    const struct engine *engine = session->root->engine;
    const struct origin *origin = &engine->origin;
    return origin_takes(origin) &&
           (origin_ready(origin, now_ms) ||
            (origin_probing(origin) && origin->in_flight < UNTRIED_AT_ONCE &&
             standing_is_untried(&engine->standing, session_lane(session))));
}
