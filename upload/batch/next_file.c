/* SPDX-License-Identifier: Apache-2.0 */
/* Decides when a sealed file is left, and how long its successor is waited for. */
#include "upload/batch/next_file.h"

#include <string.h>

#include "base/log.h"
#include "upload/core/engine_state.h"
#include "upload/core/position.h"
#include "upload/core/raw_lines.h"
#include "upload/lifecycle/returned.h"

/* A writer makes the next file microseconds after the seal, unless it is stopped or
 * cannot. */
#define NEXT_FILE_WAIT_MS 500u

/* Nothing more comes behind the \p left bytes that are left of a sealed file. A writer
 * that lives may take the seal of its newest one back, or write on in it. */
static bool next_file_may_begin(const struct stream *st, uint64_t left)
{
    const struct session *session = st->session;
    struct tail_where where = stream_where(st);
    where.offset += left;
    return session->layout != SESSION_LIVE || st->file < st->highest ||
           session_writer_is_gone(session) ||
           tail_where_has_next(session->root->engine->config.sys, &where);
}

/* A writer that cannot make the next file may cut half a line off the one it has sealed.
 */
bool next_file_is_final(const struct stream *st, const struct tail_chunk *chunk)
{
    const struct session *session = st->session;
    uint64_t now_ms = session->root->engine->config.sys->now_ms();
    bool silent = session_writer_is_silent(session, now_ms);
    return chunk->sealed ? (chunk->len && silent) || next_file_may_begin(st, chunk->len)
                         : session_writer_is_gone(session);
}

static bool next_file_is_half(const struct stream *st, const struct tail_chunk *chunk)
{
    const struct engine *engine = st->session->root->engine;
    return chunk->sealed && chunk->at_end && chunk->len &&
           !memchr(engine->raw, '\n', chunk->len) &&
           !raw_lines_is_record(engine, chunk->len);
}

bool next_file_shows_cut(const struct stream *st, const struct tail_where *where,
                         const struct tail_chunk *chunk)
{
    const struct sys *sys = st->session->root->engine->config.sys;
    struct tail_where end = *where;
    end.offset += chunk->len;
    return st->positions && where->layout == SESSION_LIVE &&
           !stream_gave_up(st, where->file) && next_file_is_half(st, chunk) &&
           (where->file < st->highest || tail_where_has_next(sys, &end)) &&
           !tail_where_tells_loss(sys, where);
}

bool next_file_pass(struct stream *st)
{
    const struct record_settled next = {
        .sequence = st->sequence, .file = st->file + 1, .how = SETTLED_GIVEN_UP};
    bool passed = position_advance(st, &next);
    if (passed) {
        returned_give_up(st, st->file - 1, st->file - 1);
    }
    return passed;
}

static uint64_t next_file_due_ms(const struct stream *st)
{
    return session_writer_is_unprobed(st->session)
               ? st->session->last_growth_ms + SESSION_SILENCE_MS
               : st->seal_read_ms + NEXT_FILE_WAIT_MS;
}

void next_file_wait(struct stream *st)
{
    const struct session *session = st->session;
    const struct engine_config *config = &session->root->engine->config;
    uint64_t now_ms = config->sys->now_ms();
    st->seal_read_ms = st->seal_read_ms ? st->seal_read_ms : now_ms;
    if (now_ms < next_file_due_ms(st)) {
        stream_enqueue(st, true, next_file_due_ms(st));
        return;
    }
    st->rest = STREAM_DRAINED;
    if (stream_is_between_files(st)) {
        return; /* as was told: another file grew */
    }
    log_warn(
        config->log, "session.between_files",
        "session=%s channel=%s file=%u note=\"its writer has closed this file and not "
        "begun the next one; what is there is sent\"",
        session->id, stream_channel(st), st->file);
}
