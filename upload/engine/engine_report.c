/* SPDX-License-Identifier: Apache-2.0 */
/* Adds up the state of all sessions and journals. */
#include "upload/engine/engine_report.h"

#include <stdio.h>
#include <unistd.h>

#include "upload/core/offer.h"
#include "upload/core/room.h"
#include "upload/core/session_streams.h"
#include "upload/engine/origin_change.h"
#include "upload/lifecycle/discovery.h"
#include "upload/lifecycle/other_root.h"
#include "upload/lifecycle/parking_grown.h"
#include "upload/owners/owners.h"

static bool report_stream_settled(const struct stream *st)
{
    return st->rest != STREAM_PENDING && !st->offer;
}

static bool report_any_enough(const struct session *session)
{
    bool any = false;
    for (unsigned i = 0; i < session->streams; i++) {
        any = any || session->stream[i]->enough;
    }
    return any;
}

/* What is held keeps back itself, and the shutdowns of the other channels: those of a
 * writer that cannot be probed until it has been silent for long. A line that is not
 * whole may never be. */
static bool report_stream_waits(const struct stream *st)
{
    const struct session *session = st->session;
    uint64_t now_ms = session->root->engine->config.sys->now_ms();
    bool at_end = st->at_shutdown && !st->offer && (!st->queued || st->due_ms > now_ms);
    bool left = !st->queued && !st->offer && (st->enough || st->unfinished);
    return stream_held(st) || left ||
           (at_end && (session_any_held(session) || report_any_enough(session)));
}

static bool report_session_finished(const struct session *session)
{
    const struct engine *engine = session->root->engine;
    if (session->state == SESSION_DONE || !session_is_listed(session)) {
        return true;
    }
    if (session->salvage == SESSION_SALVAGE_RUNS) {
        return false;
    }
    for (unsigned i = 0; i < session->streams; i++) {
        const struct stream *st = session->stream[i];
        if (!report_stream_settled(st) && !report_stream_waits(st)) {
            return false;
        }
    }
    bool ends = session_writer_is_gone(session) || session->state == SESSION_COMPLETING;
    return engine->config.ack_only || session_blocked(session) || !ends ||
           report_any_enough(session);
}

/* Offers of held streams are not sent in this run. */
static unsigned report_sendable_offers(const struct engine *engine)
{
    unsigned count = 0;
    for (const struct offer *o = engine->offers; o; o = o->next) {
        count += o->state == OFFER_IN_FLIGHT || !offer_is_held(o);
    }
    return count;
}

/* But for directories that wait: there may be room for them. */
static bool report_drained(const struct engine *engine)
{
    if (visits_any_new(&engine->visits) || engine->later ||
        report_sendable_offers(engine) > 0) {
        return false;
    }
    for (unsigned i = 0; i < engine->roots; i++) {
        struct root *root = engine->root[i];
        if (root->away) {
            continue; /* nothing can be done for it */
        }
        if (discovery_waits(root) || root->parked.waiting.count ||
            origin_change_is_unknown(root) || parking_is_to_be_asked(root) ||
            journal_durable(root->journal) < journal_last(root->journal)) {
            return false;
        }
        for (const struct session *s = root->sessions; s; s = s->next) {
            if (s->wanted && !report_session_finished(s)) {
                return false;
            }
        }
    }
    return true;
}

static bool report_has_room(const struct engine *engine)
{
    bool has = false;
    for (unsigned i = 0; i < engine->roots && !has; i++) {
        has = !engine->root[i]->away && room_goes_on(engine->root[i]);
    }
    return has;
}

bool engine_drained(const struct engine *engine)
{
    return report_drained(engine) && !report_has_room(engine);
}

bool engine_waits_for_listing(const struct engine *engine)
{
    return report_has_room(engine) && report_drained(engine);
}

static bool report_inspects_own(const struct root *root)
{
    for (const struct session *s = root->sessions; s; s = s->next) {
        if (s->dirty && visits_is_new(&s->turn) && !session_is_anothers(s)) {
            return true;
        }
    }
    return false;
}

static bool report_any_own(const struct engine *engine)
{
    for (unsigned i = 0; i < engine->roots; i++) {
        if (report_inspects_own(engine->root[i])) {
            return true;
        }
    }
    for (const struct session *s = engine->later; s; s = s->next_later) {
        if (!session_is_anothers(s)) {
            return true;
        }
    }
    for (const struct offer *o = engine->offers; o; o = o->next) {
        if (!session_is_anothers(o->stream->session) &&
            (o->state == OFFER_IN_FLIGHT || !offer_is_held(o))) {
            return true;
        }
    }
    return false;
}

static bool report_own_has_room(const struct root *root)
{
    const struct engine *engine = root->engine;
    return engine->config.named
               ? room_goes_on(root)
               : room_goes_on_for(root, owners_account(&engine->owners, geteuid()));
}

bool engine_left_to_others(const struct engine *engine, char which[256])
{
    which[0] = '\0';
    if (report_any_own(engine)) {
        return false;
    }
    for (unsigned i = 0; i < engine->roots; i++) {
        struct root *root = engine->root[i];
        if (root->away || !root->whole_listing || root->parked.waiting.count ||
            origin_change_is_unknown(root) || parking_is_to_be_asked(root) ||
            report_own_has_room(root)) {
            return false;
        }
        for (const struct session *s = root->sessions; s; s = s->next) {
            bool left = s->wanted && !report_session_finished(s);
            if (left && !session_is_anothers(s)) {
                return false;
            }
            if (left && !which[0]) {
                snprintf(which, 256, "session %.200s of user %u", s->path, s->owner);
            }
        }
    }
    return true;
}

/* Nothing of it could ever be read, and nothing tells whether its writer lives. */
static bool report_is_closed(const struct session *s)
{
    bool unopened = s->hold_reason == HELD_OWNER || s->hold_reason == HELD_DIRECTORY;
    bool unprobed = s->hold_reason && s->writer == SESSION_WRITER_UNKNOWN;
    return s->held && s->streams == 0 && (unopened || unprobed);
}

/* In a root that is away, nothing tells whether its writer lives. */
static bool report_is_away(const struct session *s)
{
    bool away = s->presence == SESSION_AWAY ||
                (s->root->away && (s->inspected || s->streams > 0));
    return away && s->wanted && s->state != SESSION_DONE;
}

/* Its offers wait for it; what else it holds is not known. */
static void report_count_away(const struct session *s, struct engine_summary *out)
{
    out->sessions_away++;
    if (!out->away_session[0]) {
        snprintf(out->away_session, sizeof out->away_session, "%s", s->path);
    }
    for (unsigned i = 0; i < s->streams; i++) {
        out->streams_pending += s->stream[i]->offer != NULL;
    }
}

/* Part of it was not even sent. */
static bool report_keeps_back(const struct session *s)
{
    return session_hold_stands(s) || s->unread || s->salvage != SESSION_SALVAGE_NONE ||
           session_is_lost(s);
}

/* The first one is named, and its user, if that is another one. \p st: NULL = all. */
static void report_name_held(struct engine_summary *out, const struct session *s,
                             const struct stream *st, enum held_reason reason)
{
    char user[32] = "";
    char text[HELD_TEXT_MAX];
    if (!out->held[0] && reason != HELD_NOT) {
        uint32_t owner = session_user(s);
        if ((session_is_anothers(s) || reason == HELD_DIRECTORY) &&
            owner != SESSION_OWNER_UNKNOWN && owner != geteuid()) {
            snprintf(user, sizeof user, " of user %u", owner);
        }
        stream_hold_text(st, reason, text);
        snprintf(out->held, sizeof out->held, "session %s%s%s%s waits: %s", s->path, user,
                 st ? ", channel " : "", st ? stream_channel(st) : "", text);
        out->held_exit = held_exit(reason);
    }
}

static void report_name_held_of(struct engine_summary *out, const struct session *s)
{
    report_name_held(out, s, NULL, s->held ? (enum held_reason)s->hold_reason : HELD_NOT);
    for (unsigned i = 0; i < s->streams; i++) {
        const struct stream *st = s->stream[i];
        uint8_t why = stream_hold_stands(st) ? st->hold_reason : stream_lost_reason(st);
        report_name_held(out, s, st, (enum held_reason)why);
    }
}

/* Its writer may have ended: then the line is torn, and nobody finishes it. */
static void report_unfinished(struct engine_summary *out, const struct session *s)
{
    bool probed = s->state == SESSION_DONE || s->writer != SESSION_WRITER_UNKNOWN;
    for (unsigned i = 0; !probed && !out->unfinished[0] && i < s->streams; i++) {
        if (s->stream[i]->unfinished) {
            snprintf(out->unfinished, sizeof out->unfinished,
                     "the last line of session %.200s, channel %s is not whole, and its "
                     "writer cannot be probed",
                     s->path, stream_channel(s->stream[i]));
        }
    }
}

static void report_lossy(const struct session *s, struct engine_summary *out)
{
    if (s->loss && s->state != SESSION_DONE) {
        out->sessions_lossy++;
        snprintf(out->lossy, sizeof out->lossy, "%s", s->path);
    }
}

static void report_count_session(const struct session *s, struct engine_summary *out)
{
    if (report_is_away(s)) {
        report_count_away(s, out);
        return;
    }
    if (!s->wanted || (!s->inspected && s->state != SESSION_DONE)) {
        return;
    }
    out->sessions++;
    out->sessions_done += s->state == SESSION_DONE;
    out->sessions_lacking += s->state == SESSION_DONE && s->outcome == SESSION_LACKS;
    out->sessions_live += s->state != SESSION_DONE && !report_is_closed(s) &&
                          !session_writer_is_gone(s) && !s->seems_over;
    out->sessions_blocked += s->state != SESSION_DONE &&
                             (session_blocked_otherwise(s) || session_hold_stands(s));
    report_lossy(s, out);
    if (s->state != SESSION_DONE && report_keeps_back(s)) {
        out->sessions_kept_back++;
        report_name_held_of(out, s);
    }
    report_unfinished(out, s);
    for (unsigned i = 0; i < s->streams && s->state != SESSION_DONE; i++) {
        const struct stream *st = s->stream[i];
        out->streams_pending += !report_stream_settled(st);
        unsigned failures = st->offer ? st->offer->failures_alone : 0;
        out->streams_stuck += failures > 0;
        if (failures > out->stuck_failures) {
            out->stuck_failures = failures;
        }
    }
}

static void report_count_held(const struct parked *parked, struct engine_summary *out)
{
    out->sessions += parked->held;
    out->sessions_live += parked->held_live;
    out->sessions_blocked += parked->held + parked->replaced;
    out->sessions_kept_back += parked->held + parked->replaced;
    out->streams_pending += parked->held_pending;
}

static void report_waiting(void *arg, uint32_t owner, unsigned count)
{
    struct engine_summary *out = arg;
    out->directories_waiting += count;
    out->waiting_owner = owner;
}

static void report_left(const struct root *root, struct engine_summary *out)
{
    uint32_t owner;
    const char *name = other_root_left(root, &owner);
    if (name) {
        out->left_owner = owner;
        snprintf(out->left, sizeof out->left, "%s", name);
    }
}

static void report_root_away(const struct root *root, struct engine_summary *out)
{
    const char *why = root->away ? root->away_reason
                      : root->deserted
                          ? "none of its sessions is there: a mount may be missing"
                          : NULL;
    if (why) {
        out->roots_away++;
        snprintf(out->away, sizeof out->away, "%.300s: %s", root->path, why);
    }
}

void engine_summary(const struct engine *engine, struct engine_summary *out)
{
    const struct counters *counters = &engine->counters;
    *out = (struct engine_summary){.files_acked = counters->files_acked,
                                   .batches_acked = counters->batches_acked,
                                   .windows_acked = counters->windows_acked,
                                   .lines_acked = counters->lines_acked,
                                   .file_bytes_acked = counters->file_bytes_acked,
                                   .sent_bytes = counters->sent_bytes,
                                   .compared_bytes = counters->compared_bytes,
                                   .requests = counters->requests,
                                   .lines_rejected = counters->lines_rejected,
                                   .lines_refused_final = counters->lines_refused_final,
                                   .kept_bytes = engine->shares.amount,
                                   .streams_done_before = engine->streams_done_before,
                                   .hold_status =
                                       engine->at_quota ? engine->quota_status : 0};
    for (unsigned i = 0; i < TRANSPORT_FAILURES; i++) {
        out->retries += counters->retries[i];
    }
    snprintf(out->last_problem, sizeof out->last_problem, "%s", engine->trouble.last);
    for (unsigned i = 0; i < engine->roots; i++) {
        const struct root *root = engine->root[i];
        report_root_away(root, out);
        out->ranges_quarantined += root->quarantine.count;
        out->state_write_errors += journal_breaks(root->journal);
        out->sessions += root->parked.complete;
        out->sessions_done += root->parked.complete - root->parked.marked;
        out->sessions_lacking += root->parked.lacking;
        out->sessions_marked += root->parked.marked;
        out->sessions_away += root->parked.away;
        out->streams_pending += root->parked.waiting.count; /* one each, at least */
        report_count_held(&root->parked, out);
        out->directories_skipped += other_root_count(root);
        room_each(root, report_waiting, out);
        report_left(root, out);
        for (const struct session *s = root->sessions; s; s = s->next) {
            report_count_session(s, out);
        }
        if (journal_broken(root->journal)) {
            out->hold = HOLD_JOURNAL;
        }
    }
    out->failures_in_row = engine->origin.failures;
    out->ever_answered = engine->origin.answered;
    out->in_flight = engine->origin.in_flight;
    if (engine->origin.hold) {
        out->hold = engine->origin.hold;
        out->hold_status = engine->origin.hold_status;
    } else if (out->hold == HOLD_NONE && engine->at_quota && out->streams_pending) {
        out->hold = HOLD_QUOTA;
    }
}

bool engine_summary_accepted(const struct engine_summary *s)
{
    return !s->sessions_blocked && !s->sessions_away && !s->roots_away &&
           !s->lines_rejected && !s->lines_refused_final && !s->directories_waiting;
}
