/* SPDX-License-Identifier: Apache-2.0 */
/* Lists an engine's quarantined ranges, offers them again, releases them. */
#include "upload/resolve/quarantine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/uuid.h"
#include "upload/batch/window_id.h"
#include "upload/core/ranges.h"
#include "upload/core/session_streams.h"
#include "upload/core/stream_numbers.h"
#include "upload/http/encode.h"
#include "upload/http/key_check.h"
#include "upload/http/reply.h"
#include "upload/http/verdict.h"

#define ANSWER_MS 310000u

bool quarantine_at(const struct engine *engine, size_t index, struct quarantined *out)
{
    const struct root *root = engine->roots ? engine->root[0] : NULL;
    const struct record_quarantine *q =
        root && index < root->quarantine.count ? root->quarantine.range[index] : NULL;
    const struct stream *st = q ? stream_numbered(root, q->stream) : NULL;
    if (st) {
        *out = (struct quarantined){.record = *q,
                                    .path = st->session->path,
                                    .channel = stream_channel(st),
                                    .window = st->kind == STREAM_VERBATIM,
                                    .head = st->head,
                                    .passed = st->positions,
                                    .is_at_head = st->file == q->file};
        quarantine_read_name(out);
    }
    return st != NULL;
}

static gpufl_status quarantine_judge(const struct quarantined *range,
                                     const struct transport_reply *reply,
                                     const struct reply_batch *batch, char said[256])
{
    char text[160];
    struct verdict_case c = {.status = reply->status,
                             .web_page = reply->web_page,
                             .identity_conflict = batch->identity_conflict,
                             .sequence_conflict = batch->sequence_conflict,
                             .encoding_changed = !range->window,
                             .is_plain_codec = true};
    enum verdict verdict = verdict_of(&c);
    if (verdict == VERDICT_ACKED && batch->rejected == 0) {
        return GPUFL_OK;
    }
    if (reply->status == 0) {
        snprintf(said, 256, "%s", reply->error);
        return GPUFL_ERR_CONTACT;
    }
    reply_message(reply->body, reply->body_len, text, sizeof text);
    const char *refusal = key_check_says(reply->status);
    snprintf(said, 256, "%s%sHTTP %d%s%s", refusal ? refusal : "", refusal ? ": " : "",
             reply->status, text[0] ? " " : "", text);
    if (reply->status == 401) {
        return GPUFL_ERR_AUTH;
    }
    bool about_lines = verdict != VERDICT_RETRY && verdict != VERDICT_HOLD_ORIGIN &&
                       verdict != VERDICT_HOLD_SESSION;
    return about_lines ? GPUFL_PARTIAL : GPUFL_BUSY;
}

/* \p taken: the backend has other content under the id. */
static gpufl_status quarantine_post(const struct engine *engine,
                                    struct transport *transport,
                                    const struct transport_request *request,
                                    const struct quarantined *range, char said[256],
                                    bool *taken)
{
    struct transport_reply reply;
    struct reply_batch batch;
    uint64_t end_ms = engine->config.sys->now_ms() + ANSWER_MS;
    gpufl_status status = transport->submit(transport->self, request);
    *taken = false;
    if (status != GPUFL_OK) {
        snprintf(said, 256, "out of memory");
        return status;
    }
    while (!transport->next(transport->self, &reply)) {
        if (engine->config.sys->now_ms() >= end_ms) {
            snprintf(said, 256, "no answer");
            return GPUFL_ERR_CONTACT;
        }
        transport->poll(transport->self, 1000, -1);
    }
    reply_read_batch(reply.body, reply.body_len, &batch);
    *taken = reply.status == 409 && batch.identity_conflict;
    return quarantine_judge(range, &reply, &batch, said);
}

/* As it was offered. A window whose id the backend has with other content is offered
 * under its own, as it is the first time: however often, it is the same one. */
static gpufl_status quarantine_submit(const struct engine *engine,
                                      struct transport *transport,
                                      const struct quarantined *range,
                                      struct transport_request *request, char said[256])
{
    char id[UUID_TEXT];
    unsigned char own[sizeof range->record.id] = {0};
    bool taken;
    bool never_offered = memcmp(range->record.id, own, sizeof own) == 0;
    uuid_make(engine->config.sys, own);
    uuid_format(never_offered ? own : range->record.id, id);
    request->window_id = id;
    request->window_headers =
        range->window || (request->window_headers && !never_offered);
    gpufl_status status =
        quarantine_post(engine, transport, request, range, said, &taken);
    if (!taken || !range->window) {
        return status;
    }
    const struct window_content content = {.session = request->session,
                                           .channel = request->channel,
                                           .sequence = request->sequence,
                                           .crc32 = request->crc32,
                                           .bytes = request->body_len};
    window_id_own(&content, engine->config.backend, own);
    if (memcmp(own, range->record.id, sizeof own) == 0) {
        return status;
    }
    uuid_format(own, id);
    return quarantine_post(engine, transport, request, range, said, &taken);
}

gpufl_status quarantine_offer(const struct engine *engine, struct transport *transport,
                              const struct quarantined *range, bool window_headers,
                              char said[256])
{
    char *data;
    size_t len;
    bool gz;
    const void *frame;
    if (range->passed) {
        snprintf(said, 256,
                 "the backend has what follows it, and takes no line out of order: drop "
                 "it");
        return GPUFL_PARTIAL;
    }
    gpufl_status status =
        quarantine_read(engine->config.sys, engine->root[0]->fd, range, &data, &len, &gz);
    if (status != GPUFL_OK) {
        snprintf(said, 256, "its file cannot be read, or has changed: %s",
                 gpufl_status_text(status));
        return status;
    }
    enum codec codec = gz ? CODEC_GZIP : CODEC_NONE;
    if (!range->window) {
        codec = CODEC_GZIP;
        data[len] = '\n'; /* ends a last line that had no newline */
        len += len > 0 && data[len - 1] != '\n';
        status = encoder_encode(engine->encoder, codec, data, len, &frame, &len);
    } else {
        frame = data;
    }
    if (status == GPUFL_OK) {
        struct transport_request request = {.kind = TRANSPORT_BATCH,
                                            .session = range->session,
                                            .encoding = codec_name(codec),
                                            .window_headers = window_headers,
                                            .channel = range->channel,
                                            .sequence = range->record.sequence,
                                            .crc32 = encode_crc32(0, frame, len),
                                            .body = frame,
                                            .body_len = len,
                                            .fd = -1};
        status = quarantine_submit(engine, transport, range, &request, said);
    } else {
        snprintf(said, 256, "it cannot be compressed");
    }
    free(data);
    return status;
}

gpufl_status quarantine_release(struct engine *engine, const struct quarantined *range,
                                bool stored)
{
    struct root *root = engine->root[0];
    struct stream *st = stream_numbered(root, range->record.stream);
    struct record_released record = {.stream = range->record.stream,
                                     .file = range->record.file,
                                     .begin = range->record.begin,
                                     .stored = stored};
    if (!st || !record_append_released(root->journal, &record)) {
        return GPUFL_ERR_IO;
    }
    ranges_let_out(st, &record);
    return GPUFL_OK;
}
