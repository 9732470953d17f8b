/* SPDX-License-Identifier: Apache-2.0 */
/* Parks sessions and opens them again, and keeps the journal in step with that. */
#include "upload/engine/parking.h"

#include <stdio.h>

#include "upload/core/position.h"
#include "upload/core/session_streams.h"

#define OPENED_AT_ONCE 32u

void parking_complete(struct session *session)
{
    struct root *root = session->root;
    struct parked_session *s = parked_new(&root->parked, session->path, session->streams);
    if (!s) {
        return;
    }
    s->wanted = session->wanted;
    s->in_cursor = session->in_cursor;
    s->gone = session->presence == SESSION_GONE;
    s->listed = session->listed;
    s->no_manifest = session->no_manifest;
    s->unread_given_up = session->unread_given_up;
    for (unsigned i = 0; i < session->streams; i++) {
        const struct stream *st = session->stream[i];
        s->stream[i] = (struct parked_stream){.offset = st->offset,
                                              .head = st->head,
                                              .lines = st->lines,
                                              .file = st->file,
                                              .sequence = st->sequence,
                                              .id = st->id,
                                              .channel = st->channel,
                                              .kind = st->kind,
                                              .marks = stream_record(st).marks};
    }
    parked_add_complete(&root->parked, s);
    session_drop(session);
}

/* Its stream number \p index as a record of the journal. */
static struct record_stream parking_record(const struct root *root,
                                           const struct parked_session *s, unsigned index)
{
    const struct parked_stream *st = &s->stream[index];
    struct record_stream record = {.stream = st->id,
                                   .kind = st->kind,
                                   .file = st->file,
                                   .offset = st->offset,
                                   .sequence = st->sequence,
                                   .lines = st->lines,
                                   .marks = st->marks,
                                   .head = st->head};
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
    session->presence = SESSION_PRESENT;
    session->in_cursor = s->in_cursor;
    session->no_manifest = s->no_manifest;
    session->unread_given_up = s->unread_given_up;
    for (unsigned i = 0; i < s->streams; i++) {
        uint8_t channel = s->stream[i].channel;
        struct stream *st = session_stream(session, root->channel_name[channel]);
        if (!st) {
            session_drop(session);
            return NULL;
        }
        struct record_stream record = parking_record(root, s, i);
        position_restore(st, &record);
    }
    parked_drop(&root->parked, s);
    return session;
}

/* Nothing new is sent while the journal is broken. */
bool parking_waits(const struct root *root)
{
    return root->parked.waiting && !journal_broken(root->journal);
}

bool parking_open_some(struct engine *engine)
{
    unsigned opened = 0;
    for (unsigned i = 0; engine->wants_more && i < engine->roots; i++) {
        struct root *root = engine->root[i];
        while (parking_waits(root) && opened < OPENED_AT_ONCE) {
            struct session *session = parking_open(root, root->parked.waiting);
            if (!session) {
                return opened > 0; /* no memory: at the next turn */
            }
            session_mark(session);
            opened++;
        }
    }
    return opened > 0;
}

static uint64_t parking_append(const struct root *root, const struct parked_session *s)
{
    for (unsigned i = 0; i < s->streams; i++) {
        struct record_stream record = parking_record(root, s, i);
        if (record.stream) {
            record_append_stream(root->journal, &record);
        }
    }
    if (s->no_manifest || s->unread_given_up) {
        struct record_resolved record = {.unread = s->unread_given_up,
                                         .no_manifest = s->no_manifest};
        snprintf(record.path, sizeof record.path, "%s", s->node.path);
        record_append_resolved(root->journal, &record);
    }
    return record_append_session(root->journal, JOURNAL_DONE, s->node.path);
}

void parking_seen(struct root *root, struct parked_session *s)
{
    if (!s->gone || parking_append(root, s)) {
        root->parked.changed = root->parked.changed || s->gone;
        s->listed = root->listing_number;
        s->gone = false;
    } /* else the journal is broken: at the next listing */
}

static void parking_forget(void *arg, struct path_node *node)
{
    struct root *root = arg;
    struct parked_session *s = parked_of(node);
    if (s->listed == root->listing_number) {
        return;
    }
    if (!s->complete) {
        registry_say_vanished(root, node->path);
        root->engine->counters.lost_windows++;
        parked_drop(&root->parked, s);
    } else if (!s->gone) {
        s->gone = record_append_session(root->journal, JOURNAL_FORGET, node->path) != 0;
        root->parked.changed = true;
    } else if (registry_absent_for_long(root, s->listed)) {
        parked_drop(&root->parked, s);
    }
}

void parking_forget_absent(struct root *root)
{
    path_table_each(&root->parked.table, parking_forget, root);
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

static void parking_append_complete(void *arg, struct parked_session *s)
{
    parking_append(arg, s);
}

void parking_write_state(struct root *root)
{
    parked_each_complete(&root->parked, parking_append_complete, root);
}
