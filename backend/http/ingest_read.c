/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes bodies and reads their lines. */
#include "backend/http/ingest_read.h"

#include <stdlib.h>
#include <string.h>

#include "backend/store/codec.h"
#include "schema/protocol.h"

/* Small parts can say dozens of times the bytes that they have. */
#define PARTS_BYTES_MAX (16u << 20)

int ingest_refuse(struct text *answer, int status, const char *error, const char *message)
{
    text_printf(answer, "{\"error\":\"%s\",\"message\":", error);
    text_json_string(answer, message);
    text_printf(answer, "}");
    return status;
}

int ingest_decode(const struct ingest_request *r, char **raw, size_t *raw_len,
                  struct text *answer)
{
    enum encoding encoding = codec_of_header(r->encoding);
    if (encoding == ENCODING_UNKNOWN) {
        return ingest_refuse(answer, 415, "encoding",
                             "Content-Encoding: unknown (expected zstd, gzip or none)");
    }
    gpufl_status status =
        codec_decode(encoding, r->body, r->len, PROTOCOL_MAX_DECODED_BYTES, raw, raw_len);
    if (status == GPUFL_PARTIAL) {
        return ingest_refuse(answer, 413, "too_large",
                             "the body is larger than 128 MiB when decoded");
    }
    if (status != GPUFL_OK) {
        return status == GPUFL_ERR_NOMEM
                   ? ingest_refuse(answer, 500, "memory", "out of memory")
                   : ingest_refuse(answer, 400, "body", "the body cannot be decoded");
    }
    return 0;
}

static int refuse_memory(struct ingest_read *out)
{
    return ingest_refuse(&out->refusal, 500, "memory", "out of memory");
}

static void note_bytes(struct ingest_read *out, const struct lines *lines)
{
    out->bytes += lines->kept_len + digest_bytes(&lines->digest);
}

void ingest_read_lines(const struct ingest_request *request, struct ingest_read *out)
{
    if (!request->session) {
        return; /* refused for that */
    }
    out->status = ingest_decode(request, &out->raw, &out->raw_len, &out->refusal);
    if (!out->status &&
        !lines_read(out->raw, out->raw_len, request->session, &out->lines)) {
        out->status = refuse_memory(out);
    }
    out->bytes = out->raw_len;
    note_bytes(out, &out->lines);
}

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

/* Without memory, it is unread as well: there may be more once others are stored. */
static enum part_fault read_part_lines(const struct ingest_read *read, size_t at,
                                       bool damaged, struct lines *out)
{
    const struct stream_part *part = &read->parts.part[at];
    if (is_named_before(&read->parts, at)) {
        return PART_NAMED_TWICE;
    }
    if (damaged || !positions_fit(part)) {
        return PART_DAMAGED;
    }
    if (part->skip) {
        return PART_READ;
    }
    bool much = read->bytes > read->raw_len + PARTS_BYTES_MAX;
    if (!much && lines_read(part->bytes, part->len, part->session, out)) {
        return PART_READ;
    }
    lines_fini(out);
    return PART_UNREAD;
}

/* Where the lengths do not add up, nobody knows which bytes are whose. */
static int read_all_parts(const struct ingest_request *request, struct ingest_read *out)
{
    const char *raw = out->raw ? out->raw : "";
    const char *newline = memchr(raw, '\n', out->raw_len);
    size_t line = newline ? (size_t)(newline - raw) : out->raw_len;
    size_t from = newline ? line + 1 : out->raw_len;
    const char *fault = positions_read_parts(raw, line, &out->parts);
    if (fault) {
        return ingest_refuse(&out->refusal, 400, "parts", fault);
    }
    out->part = calloc(out->parts.count, sizeof *out->part);
    if (!out->part) {
        return refuse_memory(out);
    }
    bool damaged = !positions_give_bytes(&out->parts, raw + from, out->raw_len - from);
    if (out->parts.count == 1 && !damaged) {
        keep_as_received(&out->parts.part[0], request, from);
    }
    for (size_t i = 0; i < out->parts.count; i++) {
        out->part[i].fault = read_part_lines(out, i, damaged, &out->part[i].lines);
        note_bytes(out, &out->part[i].lines);
    }
    return 0;
}

void ingest_read_parts(const struct ingest_request *request, struct ingest_read *out)
{
    out->status = ingest_decode(request, &out->raw, &out->raw_len, &out->refusal);
    out->bytes = out->raw_len;
    if (!out->status) {
        out->status = read_all_parts(request, out);
    }
}

void ingest_read_fini(struct ingest_read *read)
{
    for (size_t i = 0; read->part && i < read->parts.count; i++) {
        lines_fini(&read->part[i].lines);
    }
    free(read->part);
    positions_parts_fini(&read->parts);
    lines_fini(&read->lines);
    free(read->raw);
    text_fini(&read->refusal);
    *read = (struct ingest_read){0};
}
