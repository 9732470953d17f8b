/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the wanted streams of a root back to their beginnings. */
#include "upload/engine/rewind.h"

#include "upload/core/offer.h"
#include "upload/core/passed.h"
#include "upload/core/position.h"
#include "upload/core/ranges.h"
#include "upload/core/session_streams.h"
#include "upload/lifecycle/parking.h"

/* What was given up behind the end that the backend has may still be sent. The sequence
 * continues, so no number is used twice. */
static void rewind_stream(struct stream *st)
{
    struct root *root = st->session->root;
    const bool final = st->lost && st->positions && st->end.losses;
    const struct record_settled to = {.file = final ? st->end.at.file : 0,
                                      .end = final ? st->end.at.offset : 0};
    if (st->offer) {
        offer_return(root->engine, st->offer);
    }
    ranges_go_back(st, &to); /* they are offered again */
    passed_forget_from(root, st->id, to.file);
    const uint64_t refused_lines = final ? st->refused_lines : 0;
    position_rewind(st);
    st->refused_lines = refused_lines;
    st->lost = st->voided = final;
    st->sealed = st->positions ? st->sealed : (struct record_sealed){0};
}

gpufl_status rewind_root(struct root *root)
{
    parking_open_complete(root);
    for (struct session *s = root->sessions; s; s = s->next) {
        for (unsigned i = 0; i < s->streams && s->wanted; i++) {
            rewind_stream(s->stream[i]);
        }
        s->state = s->wanted ? SESSION_OPEN : s->state;
    }
    return journal_rewrite(root->journal);
}
