/* SPDX-License-Identifier: Apache-2.0 */
/* Notes which sessions are away, says so, and forgets them after many days. */
#include "upload/lifecycle/away.h"

#include <string.h>

#include "base/log.h"
#include "upload/core/claims.h"
#include "upload/core/expired.h"
#include "upload/core/kept.h"
#include "upload/core/offer.h"
#include "upload/core/room.h"
#include "upload/core/session_streams.h"
#include "upload/lifecycle/moved.h"
#include "upload/lifecycle/parking.h"
#include "upload/lifecycle/session_salvage.h"

#define WATCHES_ASKED 64u

static const char *away_id(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void away_say(const struct root *root, const char *path)
{
    log_warn(root->engine->config.log, "session.away",
             "session=%s note=\"its directory is not there; nothing of it is forgotten, "
             "and it goes on when it is back\"",
             away_id(path));
    root->engine->trouble.stamp++;
}

static void away_say_back(const struct root *root, const char *path)
{
    log_info(root->engine->config.log, "session.back", "session=%s", away_id(path));
    root->engine->trouble.stamp++;
}

static void away_say_lost(const struct root *root, const char *path, uint64_t files)
{
    log_error(
        root->engine->config.log, "session.vanished",
        "session=%s note=\"not there for %u days, and not all of it was sent: it is "
        "forgotten\"",
        away_id(path), ABSENCE_OPEN_DAYS);
    root->engine->counters.lost_windows += files;
}

/* In a root that is empty because a mount is missing, nothing is missed. If the journal
 * lies in the root, the root is the right one. */
static bool away_counts_days(const struct root *root)
{
    return root->known_named > 0 || root->journal_inside;
}

static void away_count_day(const struct root *root, const char *path,
                           struct absence *absence)
{
    if (away_counts_days(root) &&
        absence_count(absence, root->engine->config.sys->wall_s())) {
        registry_append_absence(root, path, absence);
    }
}

static void away_end_absence(const struct root *root, const char *path,
                             struct absence *absence)
{
    if (absence->days) {
        *absence = (struct absence){0};
        registry_append_absence(root, path, absence);
    }
}

static uint64_t away_unsettled_files(const struct session *s)
{
    uint64_t files = 0;
    for (unsigned i = 0; i < s->streams; i++) {
        const struct stream *st = s->stream[i];
        bool waits = (s->looked_at_ms && st->rest != STREAM_DRAINED) || st->offer;
        files += !waits ? 0 : st->highest > st->file ? st->highest - st->file + 1 : 1;
    }
    return files;
}

static bool away_any_in_flight(const struct session *session)
{
    for (unsigned i = 0; i < session->streams; i++) {
        const struct offer *offer = session->stream[i]->offer;
        if (offer && offer->state == OFFER_IN_FLIGHT) {
            return true;
        }
    }
    return false;
}

/* \return false if something still refers to it, or the journal is broken. */
static bool away_drop(struct session *s)
{
    struct root *root = s->root;
    if (away_any_in_flight(s) || session_is_referenced(s) ||
        !record_append_session(root->journal, JOURNAL_FORGET, s->path)) {
        return false;
    }
    for (unsigned i = 0; i < s->streams; i++) {
        if (s->stream[i]->offer) {
            offer_count_fate(s->stream[i]->offer, COUNTERS_FORGOTTEN);
            offer_free(root->engine, s->stream[i]->offer);
        }
    }
    session_unlist_ranges(s);
    return true;
}

/* What was said to hold it holds nothing any more. */
static void away_end(struct session *s)
{
    s->root->change_stamp++;
    s->root->engine->trouble.stamp +=
        s->presence == SESSION_AWAY || session_hold_stands(s);
    session_drop(s);
}

/* If that cannot be done now, after the next listing. */
static void away_forget(struct session *s)
{
    uint64_t files = s->state == SESSION_DONE ? 0 : away_unsettled_files(s);
    if (claims_needs(s->root, s->path) || !away_drop(s)) {
        return;
    }
    if (files) {
        away_say_lost(s->root, s->path, files);
    }
    away_end(s);
}

bool away_give_up(struct session *s)
{
    struct engine *engine = s->root->engine;
    if (!away_drop(s)) {
        return false;
    }
    engine->counters.lost[HELD_AWAY]++;
    log_warn(engine->config.log, "session.given_up", "session=%s channel=* reason=\"%s\"",
             s->id, held_text(HELD_AWAY));
    away_end(s);
    return true;
}

bool away_hand_over(struct session *s)
{
    if (!away_drop(s)) {
        return false;
    }
    away_end(s);
    return true;
}

/* An upload of all sessions chose those that were there: one that only the journal knows
 * is missed, too. */
static bool away_is_missed(const struct session *s)
{
    const struct engine_config *config = &s->root->engine->config;
    return s->wanted || (s->presence == SESSION_UNSEEN && config->once && !config->named);
}

/* Nobody has anything of it any more. If it comes back, the backend says so again. */
static bool away_forget_expired(struct session *s)
{
    if (!expired_session(s) || claims_needs(s->root, s->path) || !away_drop(s)) {
        return false;
    }
    log_info(s->root->engine->config.log, "session.forgotten",
             "session=%s note=\"the backend has deleted it, and its directory is gone\"",
             s->id);
    away_end(s);
    return true;
}

static void away_session_now(struct session *s)
{
    struct root *root = s->root;
    if (away_forget_expired(s) || (moved_is_left_over(s) && away_hand_over(s))) {
        return;
    }
    if (s->presence != SESSION_AWAY) {
        s->wanted = away_is_missed(s);
        s->presence = SESSION_AWAY;
        session_salvage_stop(s);
        s->inspected = false; /* what comes back is read as a whole */
        root->change_stamp++;
        for (unsigned i = 0; i < s->streams; i++) {
            s->stream[i]->known =
                (struct file_known){0}; /* what comes back may be something else */
        }
        if (s->wanted && s->state != SESSION_DONE) {
            away_say(root, s->path);
        }
    }
    away_count_day(root, s->path, &s->absence);
    if (s->absence.days > ABSENCE_OPEN_DAYS) {
        away_forget(s);
    }
}

static void away_session(struct session *s)
{
    const struct log *log = s->root->engine->config.log;
    uint32_t about = session_log_about(s);
    away_session_now(s);
    log_about(log, about);
}

/* Sooner if new ones of the same owner wait for its room. */
static bool away_is_over(const struct root *root, const struct parked_session *s)
{
    return s->absence.days > ABSENCE_COMPLETE_DAYS ||
           (away_counts_days(root) && room_lacks(root, s->owner));
}

static void away_parked_now(struct root *root, struct parked_session *s)
{
    const struct path_node *node = &s->node;
    if (s->held) {
        parked_drop(&root->parked, s); /* nothing was sent of it */
        root->engine->trouble.stamp++;
        return;
    }
    if (!s->away && !s->complete) {
        parked_stop_waiting(&root->parked, s);
        root->parked.away++;
        away_say(root, node->path);
    }
    s->away = true;
    parked_set_replaced(&root->parked, s, false, false);
    away_count_day(root, node->path, &s->absence);
    if (claims_needs(root, node->path)) {
        return;
    }
    if (!s->complete && s->absence.days > ABSENCE_OPEN_DAYS) {
        away_say_lost(root, node->path, 1);
        parked_drop(&root->parked, s);
        root->engine->trouble.stamp++;
    } else if (s->complete && away_is_over(root, s)) {
        (void)parking_forget(root, s);
    }
}

static void away_parked_session(void *arg, struct path_node *node)
{
    struct root *root = arg;
    const struct log *log = root->engine->config.log;
    struct parked_session *s = parked_of(node);
    if (s->listed != root->listing_number && !kept_has(root, node->path)) {
        uint32_t about = log_about(log, s->owner);
        away_parked_now(root, s);
        log_about(log, about);
    }
}

/* As an empty mount point is. */
static bool away_is_deserted(const struct root *root)
{
    bool unfinished = false;
    for (const struct session *s = root->sessions; s && !unfinished; s = s->next) {
        unfinished = s->presence == SESSION_AWAY && s->wanted && s->state != SESSION_DONE;
    }
    return unfinished && !away_counts_days(root);
}

/* Its group may be there, but could not be read. */
static bool away_is_named(struct session *s)
{
    struct root *root = s->root;
    if (s->listed != root->listing_number && kept_has(root, s->path)) {
        s->listed = root->listing_number;
        session_mark(s);
    }
    return s->listed == root->listing_number;
}

/* There may be room for it now. If many are refused, some are asked for in turn. */
static void away_ask_for_watch(struct session *s, unsigned place)
{
    struct root *root = s->root;
    unsigned turns = root->by_path.count / WATCHES_ASKED + 1;
    if (s->unwatchable && (place + root->listing_number) % turns == 0) {
        s->unwatchable = false;
        root->change_stamp++;
    }
}

void away_after_listing(struct root *root)
{
    unsigned place = 0;
    for (struct session *s = root->sessions, *next; s; s = next) {
        next = s->next;
        bool named = away_is_named(s);
        away_ask_for_watch(s, place++);
        if (named && s->presence == SESSION_UNSEEN) {
            s->presence = SESSION_PRESENT;
        }
        if (s->state == SESSION_DONE && session_idle(s)) {
            parking_complete(s);
        } else if (!named && s->streams > 0) {
            away_session(s);
        } else if (!named && session_idle(s)) {
            away_end(s); /* nothing is known of it */
        } else if (!named && s->presence != SESSION_UNSEEN) {
            s->presence = SESSION_UNSEEN; /* so that the watcher lets it go */
            root->change_stamp++;
            root->list_soon = true;
        }
    }
    path_table_each(&root->parked.table, away_parked_session, root);
    root->deserted = away_is_deserted(root);
}

void away_session_back(struct session *session)
{
    if (session->presence == SESSION_AWAY && session->wanted &&
        session->state != SESSION_DONE) {
        away_say_back(session->root, session->path);
    }
    session->presence = SESSION_PRESENT;
    away_end_absence(session->root, session->path, &session->absence);
}

void away_parked_seen(struct root *root, struct parked_session *s)
{
    s->listed = root->listing_number;
    if (s->away && !s->complete) {
        if (!parked_wait_again(&root->parked, s)) {
            return; /* no memory: the next listing names it again */
        }
        root->parked.away--;
        away_say_back(root, s->node.path);
    }
    s->away = false;
    away_end_absence(root, s->node.path, &s->absence);
}
