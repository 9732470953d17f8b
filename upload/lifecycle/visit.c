/* SPDX-License-Identifier: Apache-2.0 */
/* Looks into a directory unless what is known of it is enough. */
#include "upload/lifecycle/visit.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/log.h"
#include "upload/core/kept.h"
#include "upload/core/room.h"
#include "upload/core/session_streams.h"
#include "upload/lifecycle/away.h"
#include "upload/lifecycle/claim.h"
#include "upload/lifecycle/group.h"
#include "upload/lifecycle/inspect.h"
#include "upload/lifecycle/inspect_channel.h"
#include "upload/lifecycle/inspect_directory.h"
#include "upload/lifecycle/other_root.h"
#include "upload/lifecycle/parking.h"
#include "upload/lifecycle/parking_grown.h"
#include "upload/lifecycle/replaced.h"

/* \p owner: of its directory, if nothing was known of it. */
static struct session *visit_found(struct root *root, const char *path, uint32_t owner)
{
    struct parked_session *parked = parked_find(&root->parked, path);
    struct session *session =
        parked ? parking_open(root, parked) : session_make(root, path);
    if (session) {
        if (session->charged_to == SHARES_NOBODY) {
            session_charge(session, owner, session->charged_bytes);
        }
        root->change_stamp += !session->watched;
        session->listed = root->listing_number;
        away_session_back(session);
    }
    return session;
}

/* Watched sessions report changes, and settled sessions without a writer do not change:
 * both are inspected rarely, in case an event was lost. None is inspected so often that
 * all of its owner's would take the processor for good. */
static bool visit_inspection_is_due(const struct session *session, uint64_t now_ms)
{
    bool over = session_writer_is_gone(session) && session_settled(session);
    if (session->root->inspects_all || session->salvage == SESSION_SALVAGE_RUNS) {
        return true;
    }
    bool quiet = !session_any_held(session) && (over || session_tells(session));
    uint64_t rarely_ms =
        quiet ? QUIET_LISTINGS * session->root->engine->config.rescan_interval_ms : 0;
    uint64_t paced_ms = room_sessions_beside(session) * 1000 /
                        (quiet ? VISIT_QUIET_PER_S : VISIT_UNASKED_PER_S);
    return now_ms - session->looked_at_ms >=
           (rarely_ms > paced_ms ? rarely_ms : paced_ms);
}

/* \p name is below the root or a group: only the former may be a group. */
static void visit_group(const struct visit *visit, const char *name)
{
    if (!visit->group[0] && !other_root_is(visit->root, name)) {
        group_open(visit->root, name); /* a multi-pass run */
    }
}

static void visit_not_a_session(const struct visit *visit, const char *path,
                                const char *name)
{
    struct root *root = visit->root;
    struct parked_session *parked = parked_find(&root->parked, path);
    if (parked) {
        parked_drop(&root->parked, parked); /* it was one, and nothing was sent of it */
    }
    visit_group(visit, name);
}

/* It is inspected in steps, in the turn of its owner. */
static bool visit_found_many(struct root *root, const char *path, uint32_t owner,
                             const struct inspection *seen)
{
    bool known = session_find(root, path) || parked_find(&root->parked, path);
    struct session *session = visit_found(root, path, owner);
    root->only_sessions = false;
    if (session) {
        inspect_many(session, known, seen);
    }
    return session != NULL; /* without memory: in the next listing */
}

/* \return true if it is parked, and stays so. */
static bool visit_stays_parked(struct root *root, struct parked_session *s)
{
    root->known_named++;
    if (s->held) {
        s->listed = root->listing_number;
        return !parking_held_is_due(root, s);
    }
    away_parked_seen(root, s);
    if (s->complete && root->inspects_complete) {
        parking_reopen_grown(root, s);
    }
    return true;
}

/* \return true if it is known, and a later inspection tells what is new in it. */
static bool visit_knows(struct session *old, uint64_t now_ms)
{
    struct root *root = old->root;
    root->known_named += session_is_one(old);
    bool done = old->state == SESSION_DONE;
    bool knows = done || old->presence == SESSION_PRESENT;
    old->listed = knows ? root->listing_number : old->listed;
    if (done) {
        away_session_back(old);
    } else if (knows && visit_inspection_is_due(old, now_ms)) {
        session_mark(old);
    }
    return knows;
}

/* What is left for a later turn, its owner's next one takes up. */
static void visit_apply(const struct visit *visit, const char *path, uint32_t owner,
                        const struct inspection *seen)
{
    struct root *root = visit->root;
    struct session *session = visit_found(root, path, owner);
    if (!session) {
        root->only_sessions = false; /* no memory */
        return;
    }
    gz_cache_turn(&root->engine->gz, visit->now_ms);
    inspect_apply(session, seen, visit->now_ms);
    root->inspected += inspect_channel_decoded(session, visit->now_ms) / INSPECTION_NAMES;
    session_note_holds(session);
    parking_held(session);
    group_say_beside(root, visit->group);
}

/* \return true if \p name is a session that could be looked at. */
static bool visit_session(const struct visit *visit, const char *path, const char *name)
{
    struct root *root = visit->root;
    struct inspection seen;
    replaced_visit(root, path);
    struct parked_session *parked_session = parked_find(&root->parked, path);
    if (parked_session && visit_stays_parked(root, parked_session)) {
        return true;
    }
    struct session *old = session_find(root, path);
    if (old && inspect_is_none(old)) {
        old->listed = old->streams ? old->listed : root->listing_number;
        visit_not_a_session(visit, path, name);
        return false;
    }
    if (old && visit_knows(old, visit->now_ms)) {
        return true;
    }
    struct room_asked asked = {
        .path = path, .id = name, .above = visit->above, .counts = visit->listed};
    if (!old && !parked_session && !room_for(root, &asked)) {
        return true; /* there may be others in it */
    }
    root->inspected++;
    if (!old && !parked_session && parking_can_wait(root, path, name) &&
        parked_wait(&root->parked, path, asked.owner, root->listing_number)) {
        claim_note(root, path);
        return true;
    }
    gpufl_status status = inspect_directory(root, path, NULL, VISITS_STEP_NAMES, &seen);
    root->inspected += seen.names / INSPECTION_NAMES;
    if (status == GPUFL_BUSY) {
        return visit_found_many(root, path, asked.owner, &seen);
    }
    root->only_sessions = root->only_sessions && status == GPUFL_OK;
    if (status == GPUFL_OK) {
        visit_apply(visit, path, asked.owner, &seen);
    } else if (status != GPUFL_ERR_NOT_FOUND) {
        kept_directory(root, path);
        struct session *session = visit_found(root, path, asked.owner);
        if (session) {
            inspect_failed(session, status); /* what cannot be read may be one */
            parking_held(session);
        }
    } else {
        visit_not_a_session(visit, path, name);
    }
    return status == GPUFL_OK;
}

/* \return the account that answers for what is there. */
static uint32_t visit_owner(const struct visit *visit, const char *path)
{
    struct root *root = visit->root;
    const struct parked_session *parked = parked_find(&root->parked, path);
    const struct session *session = session_find(root, path);
    return session  ? room_owner_of(session)
           : parked ? parked->owner
                    : room_account_at(root, path, visit->above);
}

/* What is known costs little. What is held may be looked into again. */
static enum portion visit_turn(const struct visit *visit, const char *path,
                               uint32_t owner)
{
    struct root *root = visit->root;
    const struct parked_session *parked = parked_find(&root->parked, path);
    const struct session *session = session_find(root, path);
    bool first = root->portions.before == 0;
    if (session || (parked && !parked->held)) {
        uint32_t listed = session ? session->listed : parked->listed;
        return first || listed != root->listing_number ? PORTION_NOW : PORTION_SERVED;
    }
    enum portion turn = portions_turn(&root->portions, owner);
    return parked && turn == PORTION_SERVED ? PORTION_NOW : turn;
}

/* A round before has looked into it, and may have left some of what lies in it.
 * \return true if it is a session. */
static bool visit_again(const struct visit *visit, const char *path, const char *name)
{
    const struct session *session = session_find(visit->root, path);
    bool one = session ? !inspect_is_none(session)
                       : parked_find(&visit->root->parked, path) != NULL;
    if (!one) {
        visit_group(visit, name);
    }
    return one;
}

void visit_directory(const struct visit *visit, const char *name)
{
    struct root *root = visit->root;
    const struct log *log = root->engine->config.log;
    char below[JOURNAL_PATH_MAX];
    const char *path = name;
    if (visit->group[0]) {
        snprintf(below, sizeof below, "%s/%s", visit->group, name);
        path = below;
    }
    uint32_t owner = visit_owner(visit, path);
    uint32_t about = log_about(log, owner);
    enum portion turn = visit->listed ? visit_turn(visit, path, owner) : PORTION_NOW;
    unsigned inspected = root->inspected;
    bool may_hold = false;
    if (turn == PORTION_NOW) {
        may_hold = visit_session(visit, path, name);
    } else if (turn == PORTION_SERVED) {
        may_hold = visit_again(visit, path, name);
    }
    if (root->inspected != inspected && visit->listed) {
        portions_spend(&root->portions, owner, root->inspected - inspected);
    }
    if (may_hold && !visit->group[0]) {
        group_look_below(root, name);
    }
    log_about(log, about);
}

void visit_mark_due(struct root *root, uint64_t now_ms)
{
    for (struct session *s = root->sessions; s; s = s->next) {
        if (session_is_listed(s) && visit_inspection_is_due(s, now_ms)) {
            session_mark(s);
        }
    }
}
