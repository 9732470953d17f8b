/* SPDX-License-Identifier: Apache-2.0 */
/* Writes and reads it field by field, as journal_records.c does. Nobody waits for it: the
 * directory is there to be seen again. */
#include "upload/journal/record_directory.h"

#include "upload/journal/record_payload.h"

uint64_t record_append_directory(struct journal *journal,
                                 const struct record_directory *f)
{
    struct record_payload out;
    struct bytes *b = record_payload_begin(&out);
    bytes_put_uint(b, f->id.mark, 8);
    bytes_put_string(b, f->path);
    bytes_put_string(b, f->from);
    bytes_put_uint(b, f->id.user, 4);
    bytes_put_uint(b, f->id.boot, 4);
    bytes_put_uint(b, f->id.above, 4);
    bytes_put_uint(b, f->id.above_own, 1);
    return b->bad ? 0
                  : journal_append_lazily(journal, JOURNAL_DIRECTORY, out.data,
                                          (size_t)(b->at - out.data));
}

bool record_parse_directory(const struct journal_record *record,
                            struct record_directory *f)
{
    struct bytes b = record_payload_of(record);
    f->id.mark = bytes_get_uint(&b, 8);
    bytes_get_string(&b, f->path, sizeof f->path);
    bytes_get_string(&b, f->from, sizeof f->from);
    f->id.user = (uint32_t)record_payload_later(&b, 4);
    f->id.boot = (uint32_t)record_payload_later(&b, 4);
    f->id.above = (uint32_t)record_payload_later(&b, 4);
    f->id.above_own = record_payload_later(&b, 1) != 0;
    return !b.bad;
}
