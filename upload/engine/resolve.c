/* SPDX-License-Identifier: Apache-2.0 */
/* Looks what is wrong with each stream and moves its position behind that. Nothing that
 * can be read is given up, and nothing is sent twice. */
#include "upload/engine/resolve.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "schema/channels.h"
#include "upload/core/offer.h"
#include "upload/core/position.h"
#include "upload/core/session_streams.h"
#include "upload/engine/batch.h"
#include "upload/engine/inspect.h"
#include "upload/engine/parking.h"
#include "upload/engine/window.h"
#include "upload/source/shifting.h"

/* A stream, what is wrong with it, and where it is to go on. */
struct resolving {
    struct stream *stream;
    struct resolve_result *out;
    enum held_reason reason; /* HELD_NOT = nothing is wrong */
    struct record_settled to;
};

const char *resolve_split(char *text, const char **path)
{
    char *slash = strrchr(text, '/');
    const char *channel = NULL;
    for (int i = 0; slash && !channel && i < CHANNEL_COUNT; i++) {
        if (strcmp(slash + 1, channel_name((enum channel)i)) == 0) {
            *slash = '\0';
            channel = slash + 1;
        }
    }
    slash = strchr(text, '/');
    char group[LAYOUT_NAME_MAX + 2] = "g";
    if (slash) {
        snprintf(group, sizeof group, "%.*s", (int)(slash - text), text);
    }
    *path =
        layout_name_ok(group) && layout_name_ok(slash ? slash + 1 : text) ? text : NULL;
    return channel;
}

static void resolve_go_on(struct resolving *r, enum held_reason reason, uint32_t file,
                          uint64_t offset)
{
    r->reason = reason;
    r->to.file = file;
    r->to.end = offset;
}

/* Nothing follows, so whatever cannot be read in this file does not hold any more. */
static void resolve_end(struct resolving *r, enum held_reason reason)
{
    r->reason = reason;
    r->to.how = SETTLED_ENDED;
}

static struct scan_files_of resolve_files(const struct stream *st)
{
    return (struct scan_files_of){.sys = st->session->root->engine->config.sys,
                                  .root = st->session->root->fd,
                                  .path = st->session->path,
                                  .channel = stream_channel(st),
                                  .windows = st->kind == STREAM_VERBATIM};
}

/* The file is not there, or cannot be read. */
static void resolve_live_file(struct resolving *r, gpufl_status status)
{
    struct stream *st = r->stream;
    struct scan_files_of files = resolve_files(st);
    bool gone = status == GPUFL_ERR_NOT_FOUND;
    uint32_t next = scan_next_number(&files, r->to.file);
    enum held_reason reason = gone ? HELD_MISSING : HELD_UNREADABLE;
    if (next || r->to.file <= st->highest) {
        resolve_go_on(r, reason, next ? next : st->highest + 1, 0);
    } else if (!gone || (r->to.end && st->session->writer != SESSION_WRITER_LIVES) ||
               st->held) {
        resolve_end(r, gone ? HELD_DELETED : reason);
    } /* else nothing says that there was one */
}

/* Reads at \p where, and on from the ends of sealed files, which are no trouble. */
static gpufl_status resolve_read_on(const struct stream *st, struct tail_where *where)
{
    struct engine *engine = st->session->root->engine;
    struct tail_chunk chunk;
    for (;;) {
        where->sealed_only = where->file <= st->highest;
        gpufl_status status =
            tail_read(engine->config.sys, where, engine->raw, 1, &chunk);
        if (status != GPUFL_OK || chunk.len > 0 || where->file > st->highest) {
            return status;
        }
        where->file++;
        where->offset = 0;
    }
}

static void resolve_live(struct resolving *r)
{
    struct stream *st = r->stream;
    struct engine *engine = st->session->root->engine;
    struct tail_where where = stream_where(st);
    struct tail_chunk chunk;
    where.file = r->to.file;
    where.offset = r->to.end;
    gpufl_status status = resolve_read_on(st, &where);
    if (status == GPUFL_ERR_FORMAT) {
        where.offset = 0;
        status = tail_read(engine->config.sys, &where, engine->raw, 1, &chunk);
        if (status == GPUFL_OK) {
            resolve_go_on(r, HELD_SHORTER, where.file, chunk.size);
            return;
        }
    }
    if (status != GPUFL_OK && where.file > r->to.file) {
        r->to.file = where.file; /* all before it was read to the end */
        r->to.end = 0;
    }
    if (status != GPUFL_OK) {
        resolve_live_file(r, status);
    }
}

static void resolve_windows(struct resolving *r)
{
    const struct stream *st = r->stream;
    struct scan_files_of files = resolve_files(st);
    const struct session *session = st->session;
    bool over =
        session_writer_is_gone(session) && session->salvage == SESSION_SALVAGE_NONE;
    if (st->file <= st->highest && (over || st->held) && !window_is_whole(st)) {
        uint32_t next = scan_next_number(&files, st->file);
        enum held_reason reason =
            st->held ? (enum held_reason)st->hold_reason : HELD_WINDOW_MISSING;
        resolve_go_on(r, reason, next ? next : st->highest + 1, 0);
    }
}

static void resolve_shifting(struct resolving *r)
{
    struct stream *st = r->stream;
    struct engine *engine = st->session->root->engine;
    const struct sys *sys = engine->config.sys;
    struct tail_where where = stream_where(st);
    struct tail_chunk chunk = {0};
    struct shifting_place place;
    gpufl_status status;
    where.offset = r->to.end;
    if (!st->head) {
        status = shifting_first(sys, &where, st->highest, &place);
        status = status == GPUFL_ERR_NOT_FOUND ? GPUFL_OK : status;
    } else {
        status =
            tail_read(sys, &where, engine->raw, engine->config.max_batch_bytes, &chunk);
        if (status == GPUFL_OK && chunk.len == 0 && chunk.index > 0) {
            status = shifting_next(sys, &where, &place);
            status = status == GPUFL_ERR_NOT_FOUND ? GPUFL_OK : status;
        }
    }
    if (status == GPUFL_ERR_NOT_FOUND && st->rest == STREAM_MISSING) {
        resolve_end(r, HELD_DELETED); /* no file of the channel is there */
        return;
    }
    if (status == GPUFL_ERR_NOT_FOUND) {
        snprintf(r->out->why, sizeof r->out->why,
                 "%s: which of its files were sent is not known any more (gpufl upload "
                 "--force --session-id %.128s sends them again)",
                 stream_channel(st), st->session->id);
        return;
    }
    if (status == GPUFL_OK) {
        return;
    }
    enum held_reason reason =
        status == GPUFL_ERR_FORMAT ? HELD_DAMAGED : HELD_ROTATED_UNREADABLE;
    if (shifting_skip(sys, &where, st->highest, &place) == GPUFL_OK) {
        resolve_go_on(r, reason, st->file + (st->head != 0), 0);
        r->to.head = place.head;
        st->index = (uint8_t)place.index;
    } else {
        resolve_end(r, reason);
    }
}

/* Its range may be stored, so what of it can still be read is not sent again. */
static void resolve_offer(struct resolving *r)
{
    struct stream *st = r->stream;
    struct offer *offer = st->offer;
    size_t len;
    if (offer->state == OFFER_IN_FLIGHT) {
        r->out->busy++;
        return;
    }
    bool window = st->kind == STREAM_VERBATIM;
    gpufl_status status = window                      ? window_open(st, offer)
                          : offer->frame && !st->held ? GPUFL_OK
                                                      : batch_reread(offer, &len);
    if (status != GPUFL_OK) {
        r->reason = HELD_BATCH;
        r->to.sequence = offer->record.sequence;
        r->to.file = window ? offer->record.file + 1 : offer->record.file;
        r->to.end = window ? 0 : offer->record.end;
        r->to.head = offer->record.head;
    }
}

static void resolve_find(struct resolving *r)
{
    struct stream *st = r->stream;
    if (st->offer) {
        resolve_offer(r);
        if (r->reason == HELD_NOT) {
            return; /* it is under way, or will be sent */
        }
    }
    if (st->kind == STREAM_VERBATIM) {
        if (!st->offer) {
            resolve_windows(r);
        }
    } else if (st->session->layout == SESSION_SHIFTING) {
        resolve_shifting(r);
    } else {
        resolve_live(r);
    }
    if (r->reason == HELD_NOT && st->gap) {
        r->reason = HELD_GAP;
    }
    if (!st->session->quarantined && st->refused_lines) {
        r->reason = r->reason == HELD_NOT ? HELD_REFUSED : r->reason;
        r->to.lines =
            (uint32_t)(st->refused_lines < UINT32_MAX ? st->refused_lines : UINT32_MAX);
    }
}

static void resolve_say(struct resolve_result *out, struct session *session,
                        const char *channel, enum held_reason reason)
{
    struct engine *engine = session->root->engine;
    out->given_up++;
    engine->counters.lost[reason]++;
    log_warn(engine->config.log, "session.given_up",
             "session=%s channel=%s reason=\"%s\"", session->id, channel,
             held_text(reason));
}

static void resolve_stream(struct stream *st, struct resolve_result *out)
{
    struct resolving r = {.stream = st,
                          .out = out,
                          .to = {.sequence = st->sequence,
                                 .file = st->file,
                                 .end = st->offset,
                                 .head = st->head,
                                 .how = SETTLED_GIVEN_UP}};
    resolve_find(&r);
    bool ended = r.to.how == SETTLED_ENDED && st->ended_file == r.to.file;
    if (r.reason == HELD_NOT || ended || !offer_journal_stream(st) ||
        !position_advance(st, &r.to)) {
        return;
    }
    if (st->offer) {
        offer_free(st->session->root->engine, st->offer);
    }
    st->held = false;
    st->hold_reason = HELD_NOT;
    st->all_read = st->at_shutdown = false;
    st->took = STREAM_TOOK_PART;
    st->split_lines = 0;
    st->rest = STREAM_PENDING;
    resolve_say(out, st->session, stream_channel(st), r.reason);
}

/* What is wrong with the session as a whole. */
static void resolve_whole(struct session *session, struct resolve_result *out)
{
    enum held_reason reason =
        session->held ? (enum held_reason)session->hold_reason : HELD_NOT;
    bool no_manifest = reason == HELD_MANIFEST_DAMAGED || reason == HELD_MANIFEST_GONE ||
                       reason == HELD_MANIFEST_UNREADABLE;
    struct record_resolved record = session_resolved(session);
    record.no_manifest = record.no_manifest || no_manifest;
    record.unread = session->unread ? session->unread_mark : record.unread;
    if ((!no_manifest && !session->unread) ||
        !record_append_resolved(session->root->journal, &record)) {
        return;
    }
    if (session->unread) {
        resolve_say(out, session, "*", HELD_NOT_READ);
    }
    if (no_manifest) {
        resolve_say(out, session, "*", reason);
    }
    session->unread_given_up = record.unread;
    session->no_manifest = record.no_manifest;
    session->live = session->live || record.no_manifest;
}

/* \return the session, which may not be known yet; NULL = it is complete, or there is no
 * memory. */
static struct session *resolve_find_session(struct root *root, const char *path)
{
    struct parked_session *parked = parked_find(&root->parked, path);
    if (parked && parked->complete) {
        return NULL;
    }
    struct session *session =
        parked ? parking_open(root, parked) : session_find(root, path);
    if (!session && (session = session_make(root, path))) {
        session->listed = root->listing_number;
    }
    if (session && session->presence == SESSION_UNSEEN) {
        session->presence = SESSION_PRESENT;
    }
    return session;
}

void resolve_session(struct root *root, const char *path, const char *channel,
                     struct resolve_result *out)
{
    struct session *session = resolve_find_session(root, path);
    *out = (struct resolve_result){0};
    if (!session || session->state == SESSION_DONE) {
        snprintf(out->why, sizeof out->why, "it is complete: nothing of it is held");
        return;
    }
    session->looked_at_ms = 0;
    inspect_session(session, root->engine->config.sys->now_ms());
    if (!session->looked || session->presence != SESSION_PRESENT) {
        snprintf(out->why, sizeof out->why, "no such session");
        return;
    }
    if (!channel) {
        resolve_whole(session, out);
    }
    bool any = !channel;
    for (unsigned i = 0; i < session->streams; i++) {
        struct stream *st = session->stream[i];
        if (!channel || strcmp(stream_channel(st), channel) == 0) {
            any = true;
            resolve_stream(st, out);
        }
    }
    journal_want(root->journal);
    session_mark(session);
    if (!out->given_up && !out->why[0]) {
        snprintf(out->why, sizeof out->why, "%s",
                 out->busy ? "a request is under way (try again)"
                 : any     ? "nothing of it can be given up: what there is will be sent, "
                             "or waits for another reason"
                           : "it has no such channel");
    }
}

void resolve_in_first_root(struct engine *engine, const char *path, const char *channel,
                           struct resolve_result *out)
{
    resolve_session(engine->root[0], path, channel, out);
}
