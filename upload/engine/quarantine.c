/* SPDX-License-Identifier: Apache-2.0 */
#include "upload/engine/quarantine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "upload/engine/engine_internal.h"

#define ANSWER_MS 310000u

static struct stream *stream_of(const struct root *root, uint32_t id)
{
    for (const struct session *s = root->sessions; s; s = s->next) {
        for (unsigned i = 0; i < s->streams; i++) {
            if (s->stream[i]->id == id) {
                return s->stream[i];
            }
        }
    }
    return NULL;
}

static bool same(const struct record_quarantine *q, uint32_t stream, uint32_t file,
                 uint64_t begin)
{
    return q->stream == stream && q->file == file && q->begin == begin;
}

void quarantine_let_go(struct stream *st, const struct record_released *record)
{
    struct root *root = st->session->root;
    for (size_t i = 0; i < root->quarantines; i++) {
        struct record_quarantine *q = &root->quarantine[i];
        if (same(q, record->stream, record->file, record->begin)) {
            st->refused_lines -=
                q->lines < st->refused_lines ? q->lines : st->refused_lines;
            st->lines += record->stored ? q->lines : 0;
            st->session->quarantined -= st->session->quarantined > 0;
            memmove(q, q + 1, (--root->quarantines - i) * sizeof *q);
            return;
        }
    }
}

static void give_name(struct quarantined *range)
{
    char key[JOURNAL_PATH_MAX + LAYOUT_CHANNEL_MAX + 48];
    const char *slash = strrchr(range->path, '/');
    int n = snprintf(key, sizeof key, "%s %s %u %llu", range->path, range->channel,
                     range->record.file, (unsigned long long)range->record.begin);
    snprintf(range->name, sizeof range->name, "%08x", crc32c(0, key, (size_t)n));
    range->session = slash ? slash + 1 : range->path;
}

bool quarantine_at(const struct engine *engine, size_t index, struct quarantined *out)
{
    const struct root *root = engine->roots ? engine->root[0] : NULL;
    const struct record_quarantine *q =
        root && index < root->quarantines ? &root->quarantine[index] : NULL;
    const struct stream *st = q ? stream_of(root, q->stream) : NULL;
    if (st) {
        *out = (struct quarantined){.record = *q,
                                    .path = st->session->path,
                                    .channel = stream_channel(st),
                                    .window = st->kind == STREAM_VERBATIM,
                                    .head = st->head,
                                    .is_at_head = st->file == q->file};
        give_name(out);
    }
    return st != NULL;
}

bool quarantine_in_journal(const struct journal_read *journal, size_t index,
                           struct quarantined *out)
{
    const struct record_quarantine *q =
        index < journal->quarantines ? &journal->quarantine[index] : NULL;
    const struct record_stream *st = NULL;
    for (size_t i = 0; q && i < journal->streams; i++) {
        const struct record_stream *f = &journal->stream[i].record;
        st = f->stream == q->stream ? f : st;
    }
    if (st) {
        *out = (struct quarantined){.record = *q,
                                    .path = st->path,
                                    .channel = st->channel,
                                    .window = st->kind == STREAM_VERBATIM,
                                    .head = st->head,
                                    .is_at_head = st->file == q->file};
        give_name(out);
    }
    return st != NULL;
}

/* ---- its bytes ---- */

static gpufl_status read_window(const struct sys *sys, const struct tail_where *where,
                                size_t want, char *data, bool *gz)
{
    int fd;
    gpufl_status status = tail_open_window(sys, where, &fd, gz);
    if (status != GPUFL_OK) {
        return status;
    }
    size_t got = 0;
    for (ssize_t n;
         got < want && (n = sys->pread(fd, data + got, want - got, (off_t)got)) > 0;) {
        got += (size_t)n;
    }
    close(fd);
    return got == want ? GPUFL_OK : GPUFL_ERR_FORMAT;
}

/* Files of the 1.1 layout are known by their head, and only the last one's is kept. */
static gpufl_status read_lines(const struct sys *sys, const struct tail_where *where,
                               const struct quarantined *range, size_t want, char *data)
{
    struct tail_chunk chunk;
    if (where->layout == SESSION_SHIFTING && !range->is_at_head) {
        return GPUFL_ERR_NOT_FOUND;
    }
    gpufl_status status = tail_read(sys, where, data, want, &chunk);
    return status == GPUFL_OK && chunk.len < want ? GPUFL_ERR_FORMAT : status;
}

gpufl_status quarantine_read(const struct sys *sys, int root,
                             const struct quarantined *range, char **data, size_t *len,
                             bool *gz)
{
    const struct record_quarantine *f = &range->record;
    struct scan scan;
    *len = (size_t)(f->end - f->begin);
    *gz = false;
    *data = NULL;
    gpufl_status status = scan_session(sys, root, range->path, range->session, &scan);
    if (status != GPUFL_OK) {
        return status;
    }
    *data = malloc(*len + 1);
    if (!*data) {
        return GPUFL_ERR_NOMEM;
    }
    struct tail_where where = {.root = root,
                               .path = range->path,
                               .channel = range->channel,
                               .layout = scan.layout,
                               .file = f->file,
                               .offset = f->begin,
                               .head = range->head};
    status = range->window ? read_window(sys, &where, *len, *data, gz)
                           : read_lines(sys, &where, range, *len, *data);
    if (status != GPUFL_OK) {
        free(*data);
        *data = NULL;
    }
    return status;
}

/* ---- again ---- */

static gpufl_status judge(const struct quarantined *range,
                          const struct transport_reply *reply, char said[256])
{
    struct reply_batch batch;
    char text[160];
    reply_read_batch(reply->body, reply->body_len, &batch);
    struct verdict_case c = {.status = reply->status,
                             .web_page = reply->web_page,
                             .identity_conflict = batch.identity_conflict,
                             .sequence_conflict = batch.sequence_conflict,
                             .encoding_changed = !range->window,
                             .is_plain_codec = true};
    if (verdict_of(&c) == VERDICT_ACKED && batch.rejected == 0) {
        return GPUFL_OK;
    }
    reply_excerpt(reply->body, reply->body_len, text, sizeof text);
    if (reply->status) {
        snprintf(said, 256, "HTTP %d %s", reply->status, text);
    } else {
        snprintf(said, 256, "%s", reply->error);
    }
    return GPUFL_PARTIAL;
}

static gpufl_status post(const struct engine *engine, struct transport *transport,
                         const struct transport_request *request,
                         const struct quarantined *range, char said[256])
{
    struct transport_reply reply;
    uint64_t end_ms = engine->config.sys->now_ms() + ANSWER_MS;
    gpufl_status status = transport->submit(transport->self, request);
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
    return judge(range, &reply, said);
}

gpufl_status quarantine_offer(const struct engine *engine, struct transport *transport,
                              const struct quarantined *range, bool window_headers,
                              char said[256])
{
    char id[UUID_TEXT];
    char *data;
    size_t len;
    bool gz;
    const void *frame;
    gpufl_status status =
        quarantine_read(engine->config.sys, engine->root[0]->fd, range, &data, &len, &gz);
    if (status != GPUFL_OK) {
        snprintf(said, 256, "its file cannot be read as it was: %s",
                 gpufl_status_text(status));
        return status;
    }
    enum codec codec = gz ? CODEC_GZIP : CODEC_NONE;
    if (!range->window) {
        codec = CODEC_GZIP;
        data[len] = '\n'; /* of a last line that had none */
        len += len > 0 && data[len - 1] != '\n';
        status = encoder_encode(engine->encoder, codec, data, len, &frame, &len);
    } else {
        frame = data;
    }
    if (status == GPUFL_OK) {
        unsigned char fresh[16] = {0};
        bool never_offered = memcmp(range->record.id, fresh, sizeof fresh) == 0;
        uuid_make(engine->config.sys, fresh);
        uuid_format(never_offered ? fresh : range->record.id, id);
        struct transport_request request = {
            .kind = TRANSPORT_BATCH,
            .session = range->session,
            .encoding = codec_name(codec),
            .window_id = id,
            .window_headers = range->window || (window_headers && !never_offered),
            .channel = range->channel,
            .sequence = range->record.sequence,
            .crc32 = encode_crc32(0, frame, len),
            .body = frame,
            .body_len = len,
            .fd = -1};
        status = post(engine, transport, &request, range, said);
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
    struct stream *st = stream_of(root, range->record.stream);
    struct record_released record = {.stream = range->record.stream,
                                     .file = range->record.file,
                                     .begin = range->record.begin,
                                     .stored = stored};
    if (!st || !record_append_released(root->journal, &record)) {
        return GPUFL_ERR_IO;
    }
    quarantine_let_go(st, &record);
    return GPUFL_OK;
}
