/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the parts of one request in one transaction. */
#include "backend/http/parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "backend/api/api_streams.h"
#include "backend/http/positions_read.h"
#include "backend/store/store_epoch.h"
#include "backend/store/store_sessions.h"
#include "backend/store/store_streams.h"
#include "schema/layout.h"

static const char *const stream_verdicts[] = {
    [STREAM_STORED] = "stored",     [STREAM_KNOWN] = "known",
    [STREAM_CONFLICT] = "conflict", [STREAM_COMPLETE] = "complete",
    [STREAM_EXPIRED] = "expired",   [STREAM_WINDOWS] = "without_positions",
};

/* One request while its parts are taken. */
struct parts_request {
    struct store *store;
    const struct retention *retention;
    const char *hostname;
    struct positions_parts parts;
    bool damaged;    /* the lengths do not add up: nobody knows which bytes are whose */
    bool *is_stored; /* by part */
    size_t bytes;    /* of the parts that were stored */
};

static void begin_verdict(struct text *answer, const char *verdict)
{
    text_printf(answer, "{\"verdict\":\"%s\"", verdict);
}

static void refuse_lines(struct text *answer, const struct lines *lines)
{
    begin_verdict(answer, "refused");
    text_printf(answer, ",\"reason\":\"lines\",\"errors\":[");
    for (unsigned i = 0; i < lines->errors; i++) {
        text_printf(answer, "%s{\"line\":%llu,\"reason\":\"%s\"}", i ? "," : "",
                    (unsigned long long)lines->error[i].line, lines->error[i].reason);
    }
    text_printf(answer, "]");
}

/* Two parts of a stream would have two ends in one answer. */
static bool is_named_before(const struct positions_parts *parts, size_t at)
{
    const struct stream_part *part = &parts->part[at];
    for (size_t i = 0; i < at; i++) {
        if (strcmp(parts->part[i].session, part->session) == 0 &&
            strcmp(parts->part[i].channel, part->channel) == 0) {
            return true;
        }
    }
    return false;
}

/* For a sender whose directory may be a copy that another user made. */
static gpufl_status add_claimant(struct parts_request *r, const char *session,
                                 struct text *answer)
{
    uint32_t owner;
    gpufl_status status = store_claimant(r->store, session, &owner);
    if (status == GPUFL_OK && owner) {
        text_printf(answer, ",\"owner\":%" PRIu32, owner - 1);
    }
    return status;
}

static gpufl_status take_lines(struct parts_request *r, size_t at,
                               const struct lines *lines, struct text *answer)
{
    enum stream_verdict verdict;
    const struct stream_part *part = &r->parts.part[at];
    gpufl_status status =
        store_streams_take(r->store, part, lines, r->hostname, &verdict);
    if (status == GPUFL_OK) {
        begin_verdict(answer, stream_verdicts[verdict]);
        r->is_stored[at] = verdict == STREAM_STORED;
        r->bytes += r->is_stored[at] ? part->len : 0;
    }
    return status == GPUFL_OK && verdict == STREAM_COMPLETE
               ? add_claimant(r, part->session, answer)
               : status;
}

static gpufl_status read_and_take(struct parts_request *r, size_t at, struct text *answer)
{
    const struct stream_part *part = &r->parts.part[at];
    struct lines lines;
    if (part->skip) {
        return take_lines(r, at, NULL, answer);
    }
    gpufl_status status = GPUFL_OK;
    if (!lines_read(part->bytes, part->len, part->session, &lines)) {
        status = GPUFL_ERR_NOMEM;
    } else if (lines.rejected) {
        refuse_lines(answer, &lines);
    } else {
        status = take_lines(r, at, &lines, answer);
    }
    lines_fini(&lines);
    return status;
}

/* What is stored already needs no room. */
static gpufl_status judge_part(struct parts_request *r, size_t at, struct text *answer)
{
    const struct stream_part *part = &r->parts.part[at];
    struct stored_end end;
    if (is_named_before(&r->parts, at)) {
        begin_verdict(answer, "refused");
        text_printf(answer, ",\"reason\":\"named_twice\"");
        return GPUFL_OK;
    }
    if (r->damaged || !positions_fit(part)) {
        begin_verdict(answer, "damaged");
        return GPUFL_OK;
    }
    if (store_streams_end(r->store, part->session, part->channel, &end) != GPUFL_OK) {
        return GPUFL_ERR_IO;
    }
    if (!stream_place_is(&end.at, &part->end) &&
        retention_is_full(r->store, r->retention, part->session)) {
        begin_verdict(answer, "full");
        return GPUFL_OK;
    }
    return read_and_take(r, at, answer);
}

static gpufl_status answer_part(struct parts_request *r, size_t at, struct text *answer)
{
    const struct stream_part *part = &r->parts.part[at];
    struct stored_end end;
    gpufl_status status = judge_part(r, at, answer);
    if (status == GPUFL_OK) {
        status = store_streams_end(r->store, part->session, part->channel, &end);
    }
    if (status == GPUFL_OK) {
        text_printf(answer, ",\"end\":");
        api_streams_end(answer, &end);
        text_printf(answer, "}");
    }
    return status;
}

static int answer_parts(struct parts_request *r, struct text *answer)
{
    gpufl_status status = store_streams_begin(r->store);
    if (status != GPUFL_OK) {
        return ingest_refuse_unwritten(r->store, answer);
    }
    text_printf(answer, "{\"epoch\":\"%s\",\"parts\":[", store_epoch(r->store));
    for (size_t i = 0; status == GPUFL_OK && i < r->parts.count; i++) {
        text_puts(answer, i ? "," : "");
        status = answer_part(r, i, answer);
    }
    text_printf(answer, "]}\n");
    if (status == GPUFL_OK && !answer->failed) {
        status = store_streams_commit(r->store, r->bytes);
    } else {
        store_streams_rollback(r->store);
        status = answer->failed ? GPUFL_ERR_NOMEM : status;
    }
    if (status == GPUFL_OK) {
        return 200;
    }
    text_clear(answer);
    return status == GPUFL_ERR_IO ? ingest_refuse_unwritten(r->store, answer)
                                  : ingest_refuse(answer, 500, "memory", "out of memory");
}

/* The lines of a request for one part, if they are frames of their own behind the list.
 * What is padded to more than them is not worth keeping. */
static void keep_as_received(struct stream_part *part,
                             const struct ingest_request *request, size_t list)
{
    enum encoding encoding = codec_of_header(request->encoding);
    size_t head = codec_first_frame(encoding, request->body, request->len, list);
    size_t len = request->len - head;
    if (head && len > 0 && len <= part->len) {
        part->packed = (const char *)request->body + head;
        part->packed_len = len;
        part->packed_as = encoding;
    }
}

static int read_and_answer(struct parts_request *r, const struct ingest_request *request,
                           const char *raw, size_t len, struct text *answer)
{
    const char *newline = len ? memchr(raw, '\n', len) : NULL;
    size_t line = newline ? (size_t)(newline - raw) : len;
    const char *fault = positions_read_parts(raw ? raw : "", line, &r->parts);
    if (fault) {
        return ingest_refuse(answer, 400, "parts", fault);
    }
    r->is_stored = calloc(r->parts.count, sizeof *r->is_stored);
    if (!r->is_stored) {
        return ingest_refuse(answer, 500, "memory", "out of memory");
    }
    size_t from = newline ? line + 1 : len;
    r->damaged = !positions_give_bytes(&r->parts, raw + from, len - from);
    if (r->parts.count == 1 && !r->damaged) {
        keep_as_received(&r->parts.part[0], request, from);
    }
    return answer_parts(r, answer);
}

int parts_take(struct store *store, const struct retention *retention,
               const struct ingest_request *request, struct text *answer,
               void (*changed)(void *arg, const char *session), void *arg)
{
    char *raw;
    size_t len;
    if (request->too_large) {
        return ingest_refuse_large(answer);
    }
    int status = ingest_decode(request, &raw, &len, answer);
    if (status) {
        return status;
    }
    struct parts_request r = {
        .store = store,
        .retention = retention,
        .hostname = request->hostname && layout_name_ok(request->hostname)
                        ? request->hostname
                        : "",
    };
    status = read_and_answer(&r, request, raw, len, answer);
    for (size_t i = 0; status == 200 && i < r.parts.count; i++) {
        if (r.is_stored[i]) {
            changed(arg, r.parts.part[i].session);
        }
    }
    positions_parts_fini(&r.parts);
    free(r.is_stored);
    free(raw);
    return status;
}
