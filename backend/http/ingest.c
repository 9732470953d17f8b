/* SPDX-License-Identifier: Apache-2.0 */
/* Checks and stores one body. */
#include "backend/http/ingest.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "backend/store/store_health.h"
#include "backend/store/store_ingest.h"
#include "schema/layout.h"
#include "schema/protocol.h"

/* A window's identity, as sent. */
struct identity {
    bool given;
    uint32_t sequence;
    uint32_t crc32;
};

int ingest_refuse_large(struct text *answer)
{
    return ingest_refuse(answer, 413, "too_large", "the body is larger than 30 MiB");
}

int ingest_refuse_unwritten(const struct store *store, struct text *answer)
{
    const char *why = store_health_why(store);
    bool full = store_health_is_full(store);
    char message[400];
    snprintf(message, sizeof message, "the database could not be written: %s%s",
             why ? why : "unknown", full ? " (free some space)" : "");
    return ingest_refuse(answer,
                         full                          ? 507
                         : store_health_is_away(store) ? 503
                                                       : 500,
                         full ? "full" : "store", message);
}

static bool read_u32(const char *text, uint32_t *out)
{
    char *end;
    if (!text || *text < '0' || *text > '9') {
        return false;
    }
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    *out = (uint32_t)value;
    return !errno && !*end && value <= UINT32_MAX;
}

/* \return 0, or the status of a refusal. */
static int read_identity(const struct ingest_request *r, struct identity *out,
                         struct text *answer)
{
    *out = (struct identity){0};
    if (!r->window_id) {
        return 0;
    }
    if (!layout_name_ok(r->window_id) || !r->window_channel ||
        !layout_channel_ok(r->window_channel) ||
        !read_u32(r->window_sequence, &out->sequence) ||
        !read_u32(r->window_crc32, &out->crc32)) {
        return ingest_refuse(answer, 400, "bad_window_headers",
                             "the headers of a window are incomplete or invalid "
                             "(expected id, channel, sequence and CRC32)");
    }
    out->given = true;
    return 0;
}

static int answer_known(struct text *answer)
{
    text_printf(answer, "{\"accepted\":0,\"rejected\":0,\"errors\":[],\"duplicate\":true,"
                        "\"window_acknowledged\":true}");
    return 200;
}

/* \return 0 for a new identity, else the status of the answer. */
static int look_up_identity(struct store *store, const struct ingest_request *r,
                            const struct identity *id, struct text *answer)
{
    enum registry found;
    if (!id->given) {
        return 0;
    }
    const struct store_identity identity = {.window_id = r->window_id,
                                            .session = r->session,
                                            .channel = r->window_channel,
                                            .sequence = id->sequence,
                                            .crc32 = id->crc32};
    if (store_lookup(store, &identity, &found) != GPUFL_OK) {
        return ingest_refuse(answer, 500, "store", "the database could not be read");
    }
    switch (found) {
    case REGISTRY_KNOWN:
        store_duplicate(store, r->session);
        return answer_known(answer);
    case REGISTRY_IDENTITY_CONFLICT:
        return ingest_refuse(answer, 409, PROTOCOL_IDENTITY_CONFLICT,
                             "this window id is already stored with different content");
    case REGISTRY_SEQUENCE_CONFLICT:
        return ingest_refuse(
            answer, 409, PROTOCOL_SEQUENCE_CONFLICT,
            "this sequence number is already stored under another window id");
    case REGISTRY_NEW:
        break;
    }
    return 0;
}

static int answer_stored(struct text *answer, const struct lines *lines,
                         bool acknowledged)
{
    text_printf(answer, "{\"accepted\":%llu,\"rejected\":%llu,\"errors\":[",
                (unsigned long long)lines->accepted, (unsigned long long)lines->rejected);
    for (unsigned i = 0; i < lines->errors; i++) {
        text_printf(answer, "%s{\"line\":%llu,\"type\":\"\",\"reason\":\"%s\"}",
                    i ? "," : "", (unsigned long long)lines->error[i].line,
                    lines->error[i].reason);
    }
    text_printf(answer, "]%s}", acknowledged ? ",\"window_acknowledged\":true" : "");
    return 200;
}

/* Stores the body as it came, or, when lines were rejected, what remains of it. */
static int store_lines(struct store *store, const struct ingest_request *r,
                       const struct identity *id, const struct lines *lines,
                       size_t raw_len, struct text *answer)
{
    char *packed = NULL;
    struct store_body body = {
        .session = r->session,
        .channel = id->given           ? r->window_channel
                   : lines->channel[0] ? lines->channel
                                       : "all",
        .window_id = id->given ? r->window_id : NULL,
        .sequence = id->sequence,
        .crc32 = id->crc32,
        .encoding = codec_of_header(r->encoding),
        .data = r->body,
        .len = r->len,
        .raw_len = raw_len,
        .lines = lines,
        .hostname = r->hostname && layout_name_ok(r->hostname) ? r->hostname : "",
    };
    if (lines->kept) {
        if (codec_encode_zstd(lines->kept, lines->kept_len, &packed, &body.len) !=
            GPUFL_OK) {
            return ingest_refuse(answer, 500, "memory", "out of memory");
        }
        body.data = packed;
        body.raw_len = lines->kept_len;
        body.encoding = ENCODING_ZSTD;
    }
    gpufl_status status = store_add(store, &body);
    free(packed);
    if (status == GPUFL_BUSY) {
        return ingest_refuse(answer, 409, PROTOCOL_SEQUENCE_CONFLICT,
                             id->given ? "this channel is stored by positions"
                                       : "this session is stored by positions");
    }
    if (status == GPUFL_ERR_AUTH) {
        return ingest_refuse(
            answer, 409, PROTOCOL_SEQUENCE_CONFLICT,
            "the owner of this session is known, and nothing of this channel was stored "
            "without positions");
    }
    if (status != GPUFL_OK) {
        return ingest_refuse_unwritten(store, answer);
    }
    return answer_stored(answer, lines, id->given);
}

int ingest_answer_refusal(const struct ingest_read *read, struct text *answer)
{
    text_append(answer, read->refusal.data, read->refusal.len);
    return read->status;
}

static int store_read(struct store *store, const struct ingest_request *r,
                      const struct identity *id, const struct ingest_read *read,
                      struct text *answer)
{
    return read->status ? ingest_answer_refusal(read, answer)
                        : store_lines(store, r, id, &read->lines, read->raw_len, answer);
}

int ingest(struct store *store, const struct retention *retention,
           const struct ingest_request *r, struct text *answer)
{
    struct identity id;
    if (!r->session || !layout_name_ok(r->session)) {
        return ingest_refuse(answer, 400, "session",
                             PROTOCOL_H_SESSION ": missing or not a session id");
    }
    int code = read_identity(r, &id, answer);
    if (code == 0) {
        code = look_up_identity(store, r, &id, answer);
    }
    if (code) {
        return code;
    }
    if (retention_is_full(store, retention, r->session)) {
        return ingest_refuse(answer, 507, "full",
                             "the database is full (raise --max-db-bytes)");
    }
    if (r->too_large) {
        return ingest_refuse_large(answer);
    }
    if (id.given && crc32_z(0, r->body, r->len) != id.crc32) {
        return ingest_refuse(answer, 400, "crc",
                             PROTOCOL_H_WINDOW_CRC32
                             ": differs from the CRC-32 of the body");
    }
    struct ingest_read own = {0};
    if (!r->read) {
        ingest_read_lines(r, &own);
    }
    code = store_read(store, r, &id, r->read ? r->read : &own, answer);
    ingest_read_fini(&own);
    return code;
}
