/* SPDX-License-Identifier: Apache-2.0 */
/* The backend of a rig: it keeps what it is sent, by the rules of the window registry,
 * and answers what the test wants. */
#include "tests/support/rig_backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/http/positions_read.h"
#include "backend/store/codec.h"
#include "schema/protocol.h"
#include "tests/support/check.h"

static struct rig_request *rig_stored_with(struct rig *rig,
                                           const struct rig_request *like, bool by_id)
{
    for (unsigned i = 0; i < rig->requests; i++) {
        struct rig_request *r = &rig->request[i];
        if (r == like || r->kind != TRANSPORT_BATCH || r->status != 200 || !r->raw) {
            continue;
        }
        bool same = by_id ? strcmp(r->id, like->id) == 0
                          : strcmp(r->session, like->session) == 0 &&
                                strcmp(r->channel, like->channel) == 0 &&
                                r->sequence == like->sequence;
        if (same) {
            return r;
        }
    }
    return NULL;
}

static int rig_place(struct rig *rig, struct rig_request *r)
{
    struct text answer = {0};
    struct rig_positions *p = &rig->positions;
    int status = r->kind == TRANSPORT_PARTS
                     ? rig_positions_parts(p, r->raw, r->raw_len, &answer)
                 : r->kind == TRANSPORT_PLACE
                     ? rig_positions_place(p, r->session, r->channel, &r->place, &answer)
                 : r->kind == TRANSPORT_ENDS
                     ? rig_positions_ends(p, r->session, &answer)
                     : rig_positions_claim(p, r->session, r->raw ? r->raw : "",
                                           r->raw_len, &answer);
    text_append(&answer, "", 1);
    r->answer = answer.data;
    return status;
}

/* The registry's rule: the id is looked up before anything else. */
static int rig_registry(struct rig *rig, struct rig_request *r)
{
    bool batch = r->kind == TRANSPORT_BATCH;
    if (!batch && r->kind != TRANSPORT_PROBE && rig->positions.declared) {
        return rig_place(rig, r);
    }
    if (!batch) {
        return r->kind == TRANSPORT_PARTS || r->kind == TRANSPORT_ENDS ||
                       r->kind == TRANSPORT_PLACE
                   ? 404
                   : 200;
    }
    if (rig->positions.declared) {
        struct rig_stream *st =
            rig_positions_stream(&rig->positions, r->session, r->channel);
        if (st->end.at.offset || st->end.at.file > 1) {
            return 409;
        }
        st->windowed = true;
    }
    const struct rig_request *known = rig_stored_with(rig, r, true);
    if (known) {
        free(r->raw); /* stored once */
        r->raw = NULL;
        return known->crc32 == r->crc32 ? 200 : 409;
    }
    return rig_stored_with(rig, r, false) ? 409 : 200;
}

bool rig_knows(struct rig *rig, const struct rig_request *request)
{
    return rig_stored_with(rig, request, true) != NULL;
}

static unsigned rig_count_lines(const char *raw, size_t len)
{
    unsigned lines = 0;
    for (size_t i = 0; i < len; i++) {
        lines += raw[i] == '\n';
    }
    return lines;
}

static void rig_copy(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%s", text ? text : "");
}

static void rig_name_part(struct rig_request *r)
{
    struct positions_parts parts;
    size_t line = (size_t)((char *)memchr(r->raw, '\n', r->raw_len) - r->raw);
    const char *fault = positions_read_parts(r->raw, line, &parts);
    if (fault) {
        fail_msg("%s", fault);
    }
    rig_copy(r->session, sizeof r->session, parts.part[0].session);
    rig_copy(r->channel, sizeof r->channel, parts.part[0].channel);
    r->lines--; /* the first is of the request */
    positions_parts_fini(&parts);
}

/* The lines are a frame of their own, which the backend can store as it is. */
static void rig_check_frames(const struct transport_request *request,
                             const struct rig_request *r)
{
    size_t line = (size_t)(strchr(r->raw, '\n') + 1 - r->raw);
    enum encoding encoding = codec_of_header(request->encoding);
    assert_true(encoding == ENCODING_PLAIN ||
                codec_first_frame(encoding, request->body, request->body_len, line) > 0);
}

static gpufl_status rig_submit(void *self, const struct transport_request *request)
{
    struct rig *rig = self;
    assert_true(rig->requests < RIG_REQUESTS_MAX);
    struct rig_request *r = &rig->request[rig->requests];
    *r = (struct rig_request){.kind = request->kind,
                              .window_headers = request->window_headers,
                              .sequence = request->sequence,
                              .crc32 = request->crc32,
                              .place = {.file = request->file, .offset = request->offset},
                              .at_ms = rig_now_ms()};
    rig_copy(r->session, sizeof r->session, request->session);
    rig_copy(r->channel, sizeof r->channel, request->channel);
    rig_copy(r->id, sizeof r->id, request->window_id);
    rig_copy(r->encoding, sizeof r->encoding, request->encoding);
    if (request->body) {
        assert_int_equal(codec_decode(codec_of_header(request->encoding), request->body,
                                      request->body_len, 64u << 20, &r->raw, &r->raw_len),
                         GPUFL_OK);
        r->raw = realloc(r->raw, r->raw_len + 1);
        r->raw[r->raw_len] = '\0';
        r->lines = rig_count_lines(r->raw, r->raw_len);
    }
    if (request->fd >= 0) { /* a window, as it lies on disk */
        r->raw_len = request->body_len;
        r->raw = calloc(1, r->raw_len + 1);
        assert_int_equal(pread(request->fd, r->raw, r->raw_len, 0), r->raw_len);
    }
    rig->tag[rig->requests] = request->tag;
    if (r->kind == TRANSPORT_PARTS) {
        rig_name_part(r);
        rig_check_frames(request, r);
    }
    int status = rig->answer ? rig->answer(rig, r) : RIG_REGISTRY;
    rig->lost[rig->requests] = status == RIG_LOST;
    rig->requests++;
    if (status == RIG_REGISTRY || status == RIG_LOST) {
        r->status = rig_registry(rig, r);
    } else {
        r->status = status;
        if (status != 200) {
            free(r->raw);
            r->raw = NULL;
        }
    }
    return GPUFL_OK;
}

uint64_t rig_answers_in_ms(const struct rig *rig)
{
    if (rig->silent || rig->answered == rig->requests) {
        return UINT64_MAX;
    }
    uint64_t at_ms = rig->request[rig->answered].at_ms + rig->answer_ms;
    return at_ms > rig_now_ms() ? at_ms - rig_now_ms() : 0;
}

static bool rig_next(void *self, struct transport_reply *reply)
{
    struct rig *rig = self;
    if (rig_answers_in_ms(rig) > 0) {
        return false;
    }
    unsigned at = rig->answered++;
    const struct rig_request *r = &rig->request[at];
    *reply = (struct transport_reply){.tag = rig->tag[at], .kind = r->kind, .body = ""};
    if (rig->lost[at] || r->status == 0) {
        reply->maybe_received = rig->lost[at];
        rig_copy(reply->error, sizeof reply->error, "the test lost it");
        return true;
    }
    reply->status = r->status;
    reply->retry_after_ms = rig->retry_after_ms;
    reply->took_ms = rig->took_ms + rig->answer_ms;
    if (r->kind == TRANSPORT_PROBE && rig->version_times) {
        rig->version_times--;
        reply->status = rig->version_status;
    } else if (r->kind == TRANSPORT_PROBE) {
        reply->status = *rig->version_body ? 200 : 404;
        reply->body = rig->version_body;
    } else if (r->answer) {
        reply->body = r->answer;
    } else if (r->status <= 299 && rig->ok_body) {
        reply->body = rig->ok_body;
    } else if (r->status == 200) {
        reply->body = "{\"window_acknowledged\":true}";
    } else if (rig->reply_body) {
        reply->body = rig->reply_body;
    } else if (r->status == 409) {
        reply->body = rig_stored_with(rig, r, true) ? PROTOCOL_IDENTITY_CONFLICT
                                                    : PROTOCOL_SEQUENCE_CONFLICT;
    }
    reply->body_len = strlen(reply->body);
    return true;
}

static void rig_no_poll(void *self, uint64_t timeout_ms, int fd)
{
    (void)self;
    (void)timeout_ms;
    (void)fd;
}

static void rig_no_wakeup(void *self)
{
    (void)self;
}

char *rig_stored(struct rig *rig, const char *session, const char *channel)
{
    size_t len = 0;
    const struct rig_stream *st =
        rig->positions.declared ? rig_positions_stream(&rig->positions, session, channel)
                                : NULL;
    if (st && !st->windowed) {
        return strdup(st->raw);
    }
    char *all = calloc(1, 1);
    for (uint32_t sequence = 1; sequence < 100000; sequence++) {
        const struct rig_request *found = NULL;
        for (unsigned i = 0; i < rig->requests; i++) {
            const struct rig_request *r = &rig->request[i];
            if (r->kind == TRANSPORT_BATCH && r->status == 200 && r->raw &&
                r->sequence == sequence && strcmp(r->session, session) == 0 &&
                strcmp(r->channel, channel) == 0) {
                found = r;
            }
        }
        if (!found) {
            if (sequence > rig->requests + 1) {
                break;
            }
            continue; /* a quarantined number */
        }
        all = realloc(all, len + found->raw_len + 1);
        memcpy(all + len, found->raw, found->raw_len);
        len += found->raw_len;
        all[len] = '\0';
    }
    return all;
}

int rig_lose_then_too_large(struct rig *rig, const struct rig_request *request)
{
    if (request->kind != TRANSPORT_BATCH || strcmp(request->channel, "device") != 0) {
        return RIG_REGISTRY;
    }
    rig->mark++;
    return rig->mark > 4 ? RIG_REGISTRY : rig->mark % 2 == 1 ? RIG_LOST : 413;
}

struct transport rig_backend(struct rig *rig)
{
    return (struct transport){.submit = rig_submit,
                              .next = rig_next,
                              .poll = rig_no_poll,
                              .wakeup = rig_no_wakeup,
                              .self = rig};
}
