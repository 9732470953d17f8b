/* SPDX-License-Identifier: Apache-2.0 */
/* Parks sessions and opens them again, and keeps the journal in step with that. */
#include "upload/lifecycle/parking.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "upload/core/offer.h"
#include "upload/core/passed.h"
#include "upload/core/position.h"
#include "upload/core/ranges.h"
#include "upload/core/room.h"
#include "upload/core/session_streams.h"
#include "upload/lifecycle/inspect_directory.h"
#include "upload/lifecycle/replaced.h"
#include "upload/source/directory_mark.h"

#define OPENED_AT_ONCE 32u
/* So many of an owner are on their way, whatever others have ready. */
#define IN_TURN_MAX 8u
/* While no more are open, those that are held are open, too. */
#define HELD_OPEN_MAX 64u
#define OPEN_ENOUGH   64u

bool parking_can_wait(const struct root *root, const char *path, const char *id)
{
    const struct engine_config *config = &root->engine->config;
    return !root->engine->wants_more && root->by_path.count >= OPEN_ENOUGH &&
           (!config->wanted || config->wanted(config->wanted_arg, id)) &&
           inspect_is_over(root, path);
}

static struct packed_stream parking_stream(const struct stream *st)
{
    return (struct packed_stream){.offset = st->offset,
                                  .head = st->head,
                                  .mark = st->mark,
                                  .sealed = st->sealed,
                                  .end = st->end,
                                  .layout = st->layout,
                                  .lines = st->lines,
                                  .file = st->file,
                                  .sequence = st->sequence,
                                  .id = st->id,
                                  .channel = st->channel,
                                  .kind = st->kind,
                                  .marks = stream_record(st).marks};
}

void parking_complete(struct session *session)
{
    struct parked *parked = &session->root->parked;
    uint64_t changed_ns = 0;
    struct packed_stream stream[SCAN_CHANNELS_MAX];
    for (unsigned i = 0; i < session->streams; i++) {
        changed_ns += (uint64_t)session->stream[i]->compared_ns;
        stream[i] = parking_stream(session->stream[i]);
    }
    struct parked_session *s = parked_new(parked, session->path, room_owner_of(session),
                                          stream, session->streams);
    if (!s) {
        return;
    }
    s->wanted = session->wanted;
    s->in_cursor = session->in_cursor;
    s->outcome = session->outcome;
    s->away = session->presence == SESSION_AWAY;
    s->absence = session->absence;
    s->listed = session->listed;
    s->no_manifest = session->no_manifest;
    s->unread_given_up = session->unread_given_up;
    parked_set_directory(s, &session->directory);
    s->changed_ns = changed_ns;
    s->hides_end = session_hides_end(session);
    s->stamp = s->hides_end ? session_settled_stamp(session) : 0;
    s->names_ns = s->hides_end && !s->stamp ? 0 : session->changed;
    parked_add_complete(parked, s);
    session_drop(session);
}

/* Nothing of it is in the journal, or under way. */
static bool parking_is_untouched(const struct session *s)
{
    return !session_begun(s) && session_idle(s) && !s->quarantined && !s->absence.days &&
           !s->no_manifest && !s->unread_given_up && s->salvage == SESSION_SALVAGE_NONE;
}

static bool parking_may_hold(const struct session *s)
{
    bool nothing_else = s->unread && s->streams == 0;
    return s->root->by_path.count > HELD_OPEN_MAX && (s->held || nothing_else) &&
           s->state == SESSION_OPEN && s->wanted && s->presence == SESSION_PRESENT &&
           parking_is_untouched(s);
}

static unsigned parking_pending(const struct session *s)
{
    unsigned pending = 0;
    for (unsigned i = 0; i < s->streams; i++) {
        pending += s->stream[i]->rest == STREAM_PENDING;
    }
    return pending;
}

void parking_held(struct session *session)
{
    struct root *root = session->root;
    if (!parking_may_hold(session)) {
        return;
    }
    struct parked_held held = {.changed = session->inspected ? session->changed : 0,
                               .unread_mark = session->unread_mark,
                               .unread = session->unread,
                               .hold_reason = session->hold_reason,
                               .unread_said = session->unread_said,
                               .pending = (uint8_t)parking_pending(session),
                               .other_said = session->other_said,
                               .live = session->live,
                               .over = session_writer_is_gone(session)};
    if (parked_hold(&root->parked, session->path, room_owner_of(session), session->listed,
                    &held)) {
        session_drop(session);
    }
}

static void parking_open_held(struct session *session, const struct parked_held *held)
{
    session->presence = SESSION_PRESENT;
    session->held = true;
    session->inspected = parked_held_counts(held);
    session->changed = held->changed;
    session->unread_mark = held->unread_mark;
    session->unread = held->unread;
    session->hold_reason = held->hold_reason;
    session->unread_said = held->unread_said;
    session->other_said = held->other_said;
    session->live = held->live;
    session->writer = held->over ? SESSION_WRITER_GONE : (uint8_t)SESSION_WRITER_UNKNOWN;
}

bool parking_held_is_due(const struct root *root, struct parked_session *s)
{
    struct stat st;
    return root->inspects_complete || root->inspects_all ||
           fstatat(root->fd, s->node.path, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
           parked_held_of(s)->changed != session_changed(&st);
}

/* A stream of it as a record of the journal. */
static struct record_stream parking_record(const struct root *root,
                                           const struct parked_session *s,
                                           const struct packed_stream *st)
{
    bool whole = s->complete && s->outcome != SESSION_LACKS;
    struct record_stream record = {
        .stream = st->id,
        .kind = st->kind,
        .file = st->file,
        .offset = st->offset,
        .sequence = st->sequence,
        .lines = st->lines,
        .marks = (uint8_t)(st->marks | (whole ? MARK_DELIVERED : 0)),
        .head = st->head,
        .mark = st->mark,
        .layout = st->layout,
        .at = st->end};
    snprintf(record.path, sizeof record.path, "%s", s->node.path);
    snprintf(record.channel, sizeof record.channel, "%s",
             root->channel_name[st->channel]);
    return record;
}

struct session *parking_open(struct root *root, struct parked_session *s)
{
    struct session *session = session_make(root, s->node.path);
    if (!session) {
        return NULL;
    }
    session->listed = s->listed;
    session->presence = s->away ? SESSION_AWAY : SESSION_PRESENT;
    session->absence = s->absence;
    session->in_cursor = s->in_cursor;
    session->was_done = s->complete;
    session->watched = s->watched;
    session->outcome_before = s->outcome;
    session->no_manifest = s->no_manifest;
    session->unread_given_up = s->unread_given_up;
    session->directory = parked_directory(s);
    session->directory_noted = s->user != 0;
    if (s->held) {
        session->owner = s->owner;
        parking_open_held(session, parked_held_of(s));
    }
    struct packed_stream stream[SCAN_CHANNELS_MAX];
    parked_streams(s, stream);
    for (unsigned i = 0; i < s->streams; i++) {
        uint8_t channel = stream[i].channel;
        struct stream *st = session_stream(session, root->channel_name[channel]);
        if (!st) {
            session_drop(session);
            return NULL;
        }
        struct record_stream record = parking_record(root, s, &stream[i]);
        position_restore(st, &record);
        st->sealed = stream[i].sealed;
    }
    session_charge(session, s->owner, session->charged_bytes);
    parked_drop(&root->parked, s);
    return session;
}

/* Nothing new is sent while the journal is broken. */
bool parking_waits(const struct root *root)
{
    return root->parked.waiting.count && !root->away && !journal_broken(root->journal);
}

static bool parking_has_turn(const struct root *root, uint32_t owner)
{
    unsigned most = room_for_one(root, owner) ? IN_TURN_MAX : 1;
    return shares_of(&root->engine->in_turn, owner) < most;
}

/* What others have ready delays no owner. */
static unsigned parking_open_of(struct root *root, unsigned most)
{
    unsigned opened = 0;
    for (unsigned i = 0; i < OPENED_AT_ONCE && parking_waits(root); i++) {
        struct parked_session *s = parked_turn(&root->parked);
        uint32_t owner = s->owner;
        if (opened >= most && !parking_has_turn(root, owner)) {
            continue;
        }
        struct session *session = parking_open(root, s);
        if (!session) {
            break; /* no memory: at the next turn */
        }
        session_begin_turn(session, owner);
        session_mark(session);
        opened++;
    }
    return opened;
}

bool parking_open_some(struct engine *engine)
{
    unsigned left = engine->wants_more ? OPENED_AT_ONCE : 0;
    for (unsigned i = 0; i < engine->roots; i++) {
        unsigned opened = parking_open_of(engine->root[i], left);
        left -= opened < left ? opened : left;
    }
    return engine->wants_more && left < OPENED_AT_ONCE;
}

bool parking_goes_on(const struct root *root)
{
    const struct waiting_owner *of = root->parked.waiting.turns;
    bool goes_on = false;
    for (unsigned i = 0; i < OPENED_AT_ONCE && of && !goes_on; i++, of = of->next_turn) {
        goes_on = parking_has_turn(root, of->owner);
    }
    return goes_on && parking_waits(root);
}

static bool parking_moves(const struct stream *st, uint64_t now_ms)
{
    const struct offer *o = st->offer;
    return o ? !o->failures_alone && !offer_waits(o, now_ms)
             : st->queued && !stream_waits(st, now_ms);
}

/* Else it waits for its writer, a person or a time of its own. */
static bool parking_is_on_its_way(const struct session *s, uint64_t now_ms)
{
    bool moves = s->dirty || s->later || s->ends_in_flight ||
                 (s->state == SESSION_COMPLETING && !s->complete_failures);
    for (unsigned i = 0; i < s->streams; i++) {
        moves = moves || parking_moves(s->stream[i], now_ms);
    }
    return moves && s->writer != SESSION_WRITER_LIVES && s->presence == SESSION_PRESENT;
}

void parking_end_turn(struct session *session, uint64_t now_ms)
{
    if (!parking_is_on_its_way(session, now_ms)) {
        session_end_turn(session);
    }
}

static bool parking_append_streams(const struct root *root,
                                   const struct parked_session *s)
{
    struct packed_stream stream[SCAN_CHANNELS_MAX];
    parked_streams(s, stream);
    for (unsigned i = 0; i < s->streams; i++) {
        struct record_stream record = parking_record(root, s, &stream[i]);
        if (record.stream && !record_append_stream(root->journal, &record)) {
            return false;
        }
        if (record.stream && stream[i].sealed.file) {
            struct record_sealed sealed = stream[i].sealed;
            sealed.stream = record.stream;
            if (!record_append_sealed(root->journal, &sealed)) {
                return false;
            }
        }
    }
    return true;
}

static bool parking_append_resolved(const struct root *root,
                                    const struct parked_session *s)
{
    struct record_resolved record = {.unread = s->unread_given_up,
                                     .no_manifest = s->no_manifest};
    snprintf(record.path, sizeof record.path, "%s", s->node.path);
    return (!s->no_manifest && !s->unread_given_up) ||
           record_append_resolved(root->journal, &record) != 0;
}

bool parking_append_directory(const struct root *root, const struct parked_session *s)
{
    struct record_directory record = {.id = parked_directory(s)};
    snprintf(record.path, sizeof record.path, "%s", s->node.path);
    return !s->user || record_append_directory(root->journal, &record) != 0;
}

/* The record that it is done is the last, as the others are of an open session. */
static bool parking_append(const struct root *root, const struct parked_session *s)
{
    if (!parking_append_streams(root, s)) {
        return false;
    }
    if (s->absence.days) {
        registry_append_absence(root, s->node.path, &s->absence);
    }
    return parking_append_directory(root, s) && parking_append_resolved(root, s) &&
           record_append_done(root->journal, s->node.path,
                              (enum session_outcome)s->outcome) != 0;
}

struct session *parking_open_again(struct root *root, struct parked_session *s)
{
    return !s->complete || parking_append_streams(root, s) ? parking_open(root, s) : NULL;
}

static void parking_reopen(void *arg, struct path_node *node)
{
    struct parked_session *s = parked_of(node);
    if (s->complete && s->wanted) {
        parking_open(arg, s);
    }
}

void parking_open_complete(struct root *root)
{
    path_table_each(&root->parked.table, parking_reopen, root);
}

bool parking_forget(struct root *root, struct parked_session *s)
{
    if (!record_append_session(root->journal, JOURNAL_FORGET, s->node.path)) {
        return false;
    }
    passed_forget_parked(root, s);
    ranges_forget_parked(root, s);
    parked_drop(&root->parked, s);
    return true;
}

/* One that is away is forgotten: if it comes back, it is new to the other backend. */
static void parking_open_or_forget(void *arg, struct path_node *node)
{
    struct root *root = arg;
    struct parked_session *s = parked_of(node);
    if (s->complete && !s->away) {
        parking_open(root, s);
    } else if (s->complete) {
        (void)parking_forget(root, s);
    }
}

void parking_open_all(struct root *root)
{
    path_table_each(&root->parked.table, parking_open_or_forget, root);
}

static void parking_append_complete(void *arg, struct parked_session *s)
{
    parking_append(arg, s);
}

void parking_write_state(struct root *root)
{
    parked_each_complete(&root->parked, parking_append_complete, root);
}
