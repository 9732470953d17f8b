/* SPDX-License-Identifier: Apache-2.0 */
/* Writes and reads records field by field, little-endian. A reader ignores bytes behind
 * the fields that it knows; a field that was added later is 0 where it is missing. */
#include "upload/journal/journal_records.h"

#include "base/shares.h"
#include "upload/journal/record_payload.h"
#include "upload/journal/record_position.h"

/* As urgently as the type needs. */
static uint64_t record_append(const struct record_payload *out, struct journal *journal,
                              enum record_type type)
{
    size_t len = (size_t)(out->b.at - out->data);
    if (out->b.bad) {
        return 0;
    }
    switch (type) {
    case JOURNAL_AWAY:    /* a day may be counted again */
    case JOURNAL_SETTLED: /* a range that is stored may be offered again */
    case JOURNAL_SEALED:  /* the file is there to be seen again */
        return journal_append_lazily(journal, type, out->data, len);
    case JOURNAL_ATTEMPT: /* what power loss hides is reported as not stored */
        return journal_append_quietly(journal, type, out->data, len);
    default:
        return journal_append(journal, type, out->data, len);
    }
}

uint64_t record_append_stream(struct journal *journal, const struct record_stream *f)
{
    struct record_payload out;
    struct bytes *b = record_payload_begin(&out);
    bytes_put_uint(b, f->stream, 4);
    bytes_put_uint(b, f->kind, 1);
    bytes_put_uint(b, f->file, 4);
    bytes_put_uint(b, f->offset, 8);
    bytes_put_uint(b, f->sequence, 4);
    bytes_put_uint(b, f->lines, 8);
    bytes_put_uint(b, f->refused_lines, 8);
    bytes_put_uint(b, f->marks, 1);
    bytes_put_string(b, f->path);
    bytes_put_string(b, f->channel);
    bytes_put_uint(b, f->head, 8);
    record_put_mark(b, &f->mark);
    bytes_put_uint(b, f->layout, 1);
    record_put_end_then(b, &f->at, 0);
    return record_append(&out, journal, JOURNAL_STREAM);
}

bool record_parse_stream(const struct journal_record *record, struct record_stream *f)
{
    uint32_t nothing;
    struct bytes b = record_payload_of(record);
    f->stream = (uint32_t)bytes_get_uint(&b, 4);
    f->kind = (uint8_t)bytes_get_uint(&b, 1);
    f->file = (uint32_t)bytes_get_uint(&b, 4);
    f->offset = bytes_get_uint(&b, 8);
    f->sequence = (uint32_t)bytes_get_uint(&b, 4);
    f->lines = bytes_get_uint(&b, 8);
    f->refused_lines = bytes_get_uint(&b, 8);
    f->marks = (uint8_t)bytes_get_uint(&b, 1);
    bytes_get_string(&b, f->path, sizeof f->path);
    bytes_get_string(&b, f->channel, sizeof f->channel);
    f->head = record_payload_later(&b, 8);
    f->mark = record_get_mark(&b);
    f->layout = (uint8_t)record_payload_later(&b, 1);
    f->at = record_get_end_then(&b, &nothing);
    return !b.bad && f->kind <= STREAM_VERBATIM && layout_channel_ok(f->channel);
}

uint64_t record_append_offer(struct journal *journal, const struct record_offer *f)
{
    struct record_payload out;
    struct bytes *b = record_payload_begin(&out);
    bytes_put_uint(b, f->stream, 4);
    bytes_put_uint(b, f->sequence, 4);
    bytes_put(b, f->id, sizeof f->id);
    bytes_put_uint(b, f->file, 4);
    bytes_put_uint(b, f->begin, 8);
    bytes_put_uint(b, f->end, 8);
    bytes_put_uint(b, f->lines, 4);
    bytes_put_uint(b, f->codec, 1);
    bytes_put_uint(b, f->level, 1);
    bytes_put_uint(b, f->parameter_set, 2);
    bytes_put_uint(b, f->library, 4);
    bytes_put_uint(b, f->unterminated, 1);
    bytes_put_uint(b, f->encoding_changed, 1);
    bytes_put_uint(b, f->head, 8);
    bytes_put_uint(b, f->whole_end, 8);
    bytes_put_uint(b, f->whole_lines, 4);
    bytes_put_uint(b, f->sent, 1);
    record_put_mark(b, &f->mark);
    return record_append(&out, journal, JOURNAL_OFFER);
}

bool record_parse_offer(const struct journal_record *record, struct record_offer *f)
{
    struct bytes b = record_payload_of(record);
    f->stream = (uint32_t)bytes_get_uint(&b, 4);
    f->sequence = (uint32_t)bytes_get_uint(&b, 4);
    bytes_get(&b, f->id, sizeof f->id);
    f->file = (uint32_t)bytes_get_uint(&b, 4);
    f->begin = bytes_get_uint(&b, 8);
    f->end = bytes_get_uint(&b, 8);
    f->lines = (uint32_t)bytes_get_uint(&b, 4);
    f->codec = (uint8_t)bytes_get_uint(&b, 1);
    f->level = (uint8_t)bytes_get_uint(&b, 1);
    f->parameter_set = (uint16_t)bytes_get_uint(&b, 2);
    f->library = (uint32_t)bytes_get_uint(&b, 4);
    f->unterminated = (uint8_t)bytes_get_uint(&b, 1);
    f->encoding_changed = (uint8_t)bytes_get_uint(&b, 1);
    f->head = record_payload_later(&b, 8);
    f->whole_end = record_payload_later(&b, 8);
    f->whole_lines = (uint32_t)record_payload_later(&b, 4);
    f->sent = (uint8_t)record_payload_later(&b, 1);
    f->mark = record_get_mark(&b);
    return !b.bad && f->begin <= f->end && (!f->whole_end || f->whole_end >= f->end) &&
           f->sent <= OFFER_MAYBE_SENT;
}

uint64_t record_append_attempt(struct journal *journal, const struct record_attempt *f)
{
    struct record_payload out;
    struct bytes *b = record_payload_begin(&out);
    bytes_put_uint(b, f->stream, 4);
    bytes_put_uint(b, f->sequence, 4);
    bytes_put_uint(b, f->sent, 1);
    return record_append(&out, journal, JOURNAL_ATTEMPT);
}

bool record_parse_attempt(const struct journal_record *record, struct record_attempt *f)
{
    struct bytes b = record_payload_of(record);
    f->stream = (uint32_t)bytes_get_uint(&b, 4);
    f->sequence = (uint32_t)bytes_get_uint(&b, 4);
    f->sent = (uint8_t)bytes_get_uint(&b, 1);
    return !b.bad && f->sent <= OFFER_MAYBE_SENT;
}

uint64_t record_append_settled(struct journal *journal, const struct record_settled *f)
{
    struct record_payload out;
    struct bytes *b = record_payload_begin(&out);
    bytes_put_uint(b, f->stream, 4);
    bytes_put_uint(b, f->sequence, 4);
    bytes_put_uint(b, f->file, 4);
    bytes_put_uint(b, f->end, 8);
    bytes_put_uint(b, f->lines, 4);
    bytes_put_uint(b, f->how, 1);
    bytes_put_uint(b, f->head, 8);
    record_put_mark(b, &f->mark);
    record_put_end_then(b, &f->at, f->rejected_lines);
    return record_append(&out, journal, JOURNAL_SETTLED);
}

bool record_parse_settled(const struct journal_record *record, struct record_settled *f)
{
    struct bytes b = record_payload_of(record);
    f->stream = (uint32_t)bytes_get_uint(&b, 4);
    f->sequence = (uint32_t)bytes_get_uint(&b, 4);
    f->file = (uint32_t)bytes_get_uint(&b, 4);
    f->end = bytes_get_uint(&b, 8);
    f->lines = (uint32_t)bytes_get_uint(&b, 4);
    f->how = (uint8_t)bytes_get_uint(&b, 1);
    f->head = record_payload_later(&b, 8);
    f->mark = record_get_mark(&b);
    f->at = record_get_end_then(&b, &f->rejected_lines);
    return !b.bad && f->how <= SETTLED_ENDED;
}

uint64_t record_append_sealed(struct journal *journal, const struct record_sealed *f)
{
    struct record_payload out;
    struct bytes *b = record_payload_begin(&out);
    bytes_put_uint(b, f->stream, 4);
    bytes_put_uint(b, f->file, 4);
    bytes_put_uint(b, f->bytes, 8);
    record_put_mark(b, &f->mark);
    bytes_put_uint(b, f->deleted, 4);
    return record_append(&out, journal, JOURNAL_SEALED);
}

bool record_parse_sealed(const struct journal_record *record, struct record_sealed *f)
{
    struct bytes b = record_payload_of(record);
    f->stream = (uint32_t)bytes_get_uint(&b, 4);
    f->file = (uint32_t)bytes_get_uint(&b, 4);
    f->bytes = bytes_get_uint(&b, 8);
    f->mark = record_get_mark(&b);
    f->deleted = (uint32_t)record_payload_later(&b, 4);
    return !b.bad;
}

uint64_t record_append_quarantine(struct journal *journal,
                                  const struct record_quarantine *f)
{
    struct record_payload out;
    struct bytes *b = record_payload_begin(&out);
    bytes_put_uint(b, f->stream, 4);
    bytes_put_uint(b, f->sequence, 4);
    bytes_put(b, f->id, sizeof f->id);
    bytes_put_uint(b, f->file, 4);
    bytes_put_uint(b, f->begin, 8);
    bytes_put_uint(b, f->end, 8);
    bytes_put_uint(b, f->lines, 4);
    bytes_put_uint(b, (uint32_t)f->status, 4);
    bytes_put_string(b, f->reason);
    return record_append(&out, journal, JOURNAL_QUARANTINE);
}

bool record_parse_quarantine(const struct journal_record *record,
                             struct record_quarantine *f)
{
    struct bytes b = record_payload_of(record);
    f->stream = (uint32_t)bytes_get_uint(&b, 4);
    f->sequence = (uint32_t)bytes_get_uint(&b, 4);
    bytes_get(&b, f->id, sizeof f->id);
    f->file = (uint32_t)bytes_get_uint(&b, 4);
    f->begin = bytes_get_uint(&b, 8);
    f->end = bytes_get_uint(&b, 8);
    f->lines = (uint32_t)bytes_get_uint(&b, 4);
    f->status = (int32_t)bytes_get_uint(&b, 4);
    bytes_get_string(&b, f->reason, sizeof f->reason);
    f->owner = SHARES_NOBODY;
    return !b.bad;
}

uint64_t record_append_released(struct journal *journal, const struct record_released *f)
{
    struct record_payload out;
    struct bytes *b = record_payload_begin(&out);
    bytes_put_uint(b, f->stream, 4);
    bytes_put_uint(b, f->file, 4);
    bytes_put_uint(b, f->begin, 8);
    bytes_put_uint(b, f->stored, 1);
    return record_append(&out, journal, JOURNAL_RELEASED);
}

bool record_parse_released(const struct journal_record *record, struct record_released *f)
{
    struct bytes b = record_payload_of(record);
    f->stream = (uint32_t)bytes_get_uint(&b, 4);
    f->file = (uint32_t)bytes_get_uint(&b, 4);
    f->begin = bytes_get_uint(&b, 8);
    f->stored = (uint8_t)bytes_get_uint(&b, 1);
    return !b.bad && f->stored <= 1;
}

uint64_t record_append_resolved(struct journal *journal, const struct record_resolved *f)
{
    struct record_payload out;
    struct bytes *b = record_payload_begin(&out);
    bytes_put_uint(b, f->unread, 8);
    bytes_put_uint(b, f->no_manifest, 1);
    bytes_put_string(b, f->path);
    return record_append(&out, journal, JOURNAL_RESOLVED);
}

bool record_parse_resolved(const struct journal_record *record, struct record_resolved *f)
{
    struct bytes b = record_payload_of(record);
    f->unread = bytes_get_uint(&b, 8);
    f->no_manifest = (uint8_t)bytes_get_uint(&b, 1);
    bytes_get_string(&b, f->path, sizeof f->path);
    return !b.bad && f->no_manifest <= 1;
}

uint64_t record_append_away(struct journal *journal, const struct record_away *f)
{
    struct record_payload out;
    struct bytes *b = record_payload_begin(&out);
    bytes_put_uint(b, f->days, 4);
    bytes_put_uint(b, f->last, 4);
    bytes_put_string(b, f->path);
    return record_append(&out, journal, JOURNAL_AWAY);
}

bool record_parse_away(const struct journal_record *record, struct record_away *f)
{
    struct bytes b = record_payload_of(record);
    f->days = (uint32_t)bytes_get_uint(&b, 4);
    f->last = (uint32_t)bytes_get_uint(&b, 4);
    bytes_get_string(&b, f->path, sizeof f->path);
    return !b.bad;
}

uint64_t record_append_origin(struct journal *journal, const struct record_origin *f)
{
    struct record_payload out;
    struct bytes *b = record_payload_begin(&out);
    bytes_put_string(b, f->url);
    bytes_put(b, f->salt, sizeof f->salt);
    bytes_put(b, f->key, sizeof f->key);
    bytes_put_uint(b, f->again, 1);
    bytes_put_uint(b, f->moved, 1);
    bytes_put_uint(b, f->same, 1);
    bytes_put_uint(b, f->database, 8);
    return record_append(&out, journal, JOURNAL_ORIGIN);
}

bool record_parse_origin(const struct journal_record *record, struct record_origin *f)
{
    struct bytes b = record_payload_of(record);
    bytes_get_string(&b, f->url, sizeof f->url);
    bytes_get(&b, f->salt, sizeof f->salt);
    bytes_get(&b, f->key, sizeof f->key);
    f->again = (uint8_t)bytes_get_uint(&b, 1);
    f->moved = (uint8_t)bytes_get_uint(&b, 1);
    f->same = (uint8_t)record_payload_later(&b, 1);
    f->database = record_payload_later(&b, 8);
    return !b.bad && f->url[0] && f->again <= 1 && f->moved <= 1 && f->same <= 1;
}

uint64_t record_append_reached(struct journal *journal, const struct record_reached *f)
{
    struct record_payload out;
    struct bytes *b = record_payload_begin(&out);
    bytes_put_uint(b, f->stream, 4);
    bytes_put_uint(b, f->file, 4);
    bytes_put_uint(b, f->offset, 8);
    return record_append(&out, journal, JOURNAL_REACHED);
}

bool record_parse_reached(const struct journal_record *record, struct record_reached *f)
{
    struct bytes b = record_payload_of(record);
    f->stream = (uint32_t)bytes_get_uint(&b, 4);
    f->file = (uint32_t)bytes_get_uint(&b, 4);
    f->offset = bytes_get_uint(&b, 8);
    return !b.bad;
}

uint64_t record_append_claim(struct journal *journal, const struct record_claim *f)
{
    struct record_payload out;
    struct bytes *b = record_payload_begin(&out);
    bytes_put_uint(b, f->owner, 4);
    bytes_put_uint(b, f->has_owner, 1);
    bytes_put_string(b, f->path);
    return record_append(&out, journal, JOURNAL_CLAIM);
}

bool record_parse_claim(const struct journal_record *record, struct record_claim *f)
{
    struct bytes b = record_payload_of(record);
    f->owner = (uint32_t)bytes_get_uint(&b, 4);
    f->has_owner = (uint8_t)bytes_get_uint(&b, 1);
    bytes_get_string(&b, f->path, sizeof f->path);
    return !b.bad && f->has_owner <= 1 && f->path[0];
}

uint64_t record_append_done(struct journal *journal, const char *path,
                            enum session_outcome outcome)
{
    struct record_payload out;
    struct bytes *b = record_payload_begin(&out);
    bytes_put_string(b, path);
    bytes_put_uint(b, outcome, 1);
    return record_append(&out, journal, JOURNAL_DONE);
}

uint64_t record_append_session(struct journal *journal, enum record_type type,
                               const char *path)
{
    struct record_payload out;
    bytes_put_string(record_payload_begin(&out), path);
    return record_append(&out, journal, type);
}

bool record_parse_session(const struct journal_record *record, struct record_session *f)
{
    struct bytes b = record_payload_of(record);
    bytes_get_string(&b, f->path, sizeof f->path);
    f->outcome = (uint8_t)record_payload_later(&b, 1);
    return !b.bad;
}
