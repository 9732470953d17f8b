/* SPDX-License-Identifier: Apache-2.0 */
/* Compares what is told with the ends that the backend has. */
#include "upload/holder_ends.h"

#include <string.h>

#include "upload/holder_look.h"
#include "upload/http/reply_positions.h"
#include "upload/http/transport_ask.h"

/* The lines of a session follow each other. */
struct holder_ends {
    const struct upload *u;
    uint64_t epoch;
    struct holder_targets *targets;
    struct holder_session *session; /* whose ends these are */
    struct reply_streams at;
};

static bool ends_ask(struct holder_ends *ends)
{
    const struct transport *transport = &ends->u->transport;
    struct transport_request request = {
        .kind = TRANSPORT_ENDS, .session = ends->session->selected->id, .fd = -1};
    struct transport_reply reply;
    ends->at = (struct reply_streams){0};
    if (sys_real.now_ms() < ends->u->deadline_ms &&
        transport_ask(transport, &request, &reply) == GPUFL_OK && reply.status == 200) {
        reply_read_streams(reply.body, reply.body_len, &ends->at);
    }
    return ends->at.readable && ends->at.epoch == ends->epoch;
}

/* Windows go by no positions. */
static bool ends_reach(const struct holder_ends *ends, const struct progress_line *line)
{
    const struct reply_stream *stream = reply_stream_of(&ends->at, line->channel);
    if (!stream || line->kind != STREAM_BATCHED || stream->without_positions ||
        stream->end.expired || (line->complete && ends->at.open)) {
        return false;
    }
    const struct stream_place *at = &stream->end.at;
    return at->file > line->file ||
           (at->file == line->file && at->offset >= line->offset);
}

static void ends_note(void *arg, const struct progress_line *line)
{
    struct holder_ends *ends = arg;
    struct holder_session *session = holder_look_session(ends->targets, line->path);
    if (!session || !session->told.doubted || !line->epoch ||
        line->epoch == ends->epoch) {
        return;
    }
    if (session != ends->session) {
        bool first = session->asked != ends->epoch;
        session->asked = ends->epoch;
        ends->session = session;
        bool has = ends_ask(ends) && (first || session->compared == ends->epoch);
        session->compared = has ? ends->epoch : 0;
    }
    if (!ends_reach(ends, line)) {
        session->compared = 0;
    }
}

void holder_ends_ask(const struct upload *u, const struct holder_origin *origin,
                     struct holder_targets *targets)
{
    struct holder_ends ends = {.u = u, .epoch = origin->epoch, .targets = targets};
    const struct progress_origin here = {u->backend.url, origin->database};
    if (progress_read(&sys_real, u->root, &here, ends_note, &ends) == GPUFL_OK) {
        holder_look_in_epoch(targets, 0); /* it looks again */
    }
}
