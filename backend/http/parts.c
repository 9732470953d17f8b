/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the parts of one request in one transaction. */
#include "backend/http/parts.h"

#include <inttypes.h>
#include <stdlib.h>

#include "backend/api/api_streams.h"
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
    const struct ingest_read *read;
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
    const struct stream_part *part = &r->read->parts.part[at];
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

static gpufl_status judge_lines(struct parts_request *r, size_t at,
                                const struct lines *lines, struct text *answer)
{
    if (lines->rejected) {
        refuse_lines(answer, lines);
        return GPUFL_OK;
    }
    return take_lines(r, at, r->read->parts.part[at].skip ? NULL : lines, answer);
}

static gpufl_status read_and_judge(struct parts_request *r, size_t at,
                                   struct text *answer)
{
    const struct stream_part *part = &r->read->parts.part[at];
    struct lines lines;
    gpufl_status status = lines_read(part->bytes, part->len, part->session, &lines)
                              ? judge_lines(r, at, &lines, answer)
                              : GPUFL_ERR_NOMEM;
    lines_fini(&lines);
    return status;
}

/* What is stored already needs no room. */
static gpufl_status judge_part(struct parts_request *r, size_t at, struct text *answer)
{
    const struct stream_part *part = &r->read->parts.part[at];
    const struct part_read *read = &r->read->part[at];
    struct stored_end end;
    if (read->fault == PART_NAMED_TWICE) {
        begin_verdict(answer, "refused");
        text_printf(answer, ",\"reason\":\"named_twice\"");
        return GPUFL_OK;
    }
    if (read->fault == PART_DAMAGED) {
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
    return read->fault == PART_UNREAD ? read_and_judge(r, at, answer)
                                      : judge_lines(r, at, &read->lines, answer);
}

static gpufl_status answer_part(struct parts_request *r, size_t at, struct text *answer)
{
    const struct stream_part *part = &r->read->parts.part[at];
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
    for (size_t i = 0; status == GPUFL_OK && i < r->read->parts.count; i++) {
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

static int take_read(struct parts_request *r, struct text *answer)
{
    if (r->read->status) {
        return ingest_answer_refusal(r->read, answer);
    }
    r->is_stored = calloc(r->read->parts.count, sizeof *r->is_stored);
    return r->is_stored ? answer_parts(r, answer)
                        : ingest_refuse(answer, 500, "memory", "out of memory");
}

int parts_take(struct store *store, const struct retention *retention,
               const struct ingest_request *request, struct text *answer,
               void (*changed)(void *arg, const char *session), void *arg)
{
    struct ingest_read own = {0};
    if (request->too_large) {
        return ingest_refuse_large(answer);
    }
    if (!request->read) {
        ingest_read_parts(request, &own);
    }
    struct parts_request r = {
        .store = store,
        .retention = retention,
        .hostname = request->hostname && layout_name_ok(request->hostname)
                        ? request->hostname
                        : "",
        .read = request->read ? request->read : &own,
    };
    int status = take_read(&r, answer);
    for (size_t i = 0; status == 200 && i < r.read->parts.count; i++) {
        if (r.is_stored[i]) {
            changed(arg, r.read->parts.part[i].session);
        }
    }
    ingest_read_fini(&own);
    free(r.is_stored);
    return status;
}
