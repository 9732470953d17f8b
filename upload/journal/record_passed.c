/* SPDX-License-Identifier: Apache-2.0 */
/* Writes and reads it field by field, as journal_records.c does. Nobody waits for it:
 * what is lost with it is only told again, or not told. */
#include "upload/journal/record_passed.h"

#include "upload/journal/journal_records.h"
#include "upload/journal/record_payload.h"

uint64_t record_append_passed(struct journal *journal, const struct record_passed *f)
{
    struct record_payload out;
    struct bytes *b = record_payload_begin(&out);
    bytes_put_uint(b, f->stream, 4);
    bytes_put_uint(b, f->first, 4);
    bytes_put_uint(b, f->last, 4);
    bytes_put_uint(b, f->returned, 1);
    return journal_append_lazily(journal, JOURNAL_PASSED, out.data,
                                 (size_t)(b->at - out.data));
}

bool record_parse_passed(const struct journal_record *record, struct record_passed *f)
{
    struct bytes b = record_payload_of(record);
    f->stream = (uint32_t)bytes_get_uint(&b, 4);
    f->first = (uint32_t)bytes_get_uint(&b, 4);
    f->last = (uint32_t)bytes_get_uint(&b, 4);
    f->returned = (uint8_t)bytes_get_uint(&b, 1);
    return !b.bad && f->first && f->first <= f->last && f->returned <= 1;
}
