/* SPDX-License-Identifier: Apache-2.0 */
/* Writes and reads marks and ends, field by field. */
#include "upload/journal/record_position.h"

#include "upload/journal/record_payload.h"

void record_put_mark(struct bytes *b, const struct record_mark *mark)
{
    bytes_put_uint(b, mark->bytes, 4);
    bytes_put_uint(b, mark->crc32, 4);
}

struct record_mark record_get_mark(struct bytes *b)
{
    struct record_mark mark;
    mark.bytes = (uint32_t)record_payload_later(b, 4);
    mark.crc32 = (uint32_t)record_payload_later(b, 4);
    return mark;
}

static void record_put_whole_end(struct bytes *b, const struct record_end *end)
{
    bytes_put_uint(b, end->at.file, 4);
    bytes_put_uint(b, end->at.offset, 8);
    bytes_put_uint(b, end->at.lines, 8);
    bytes_put_uint(b, end->at.crc, 4);
    bytes_put_uint(b, end->file_crc, 4);
    bytes_put_uint(b, end->losses, 4);
    bytes_put_uint(b, end->epoch, 8);
    bytes_put_uint(b, end->top_file, 4);
    bytes_put_uint(b, end->top_offset, 8);
    bytes_put_uint(b, end->state, 1);
}

struct record_end record_get_end_then(struct bytes *b, uint32_t *then)
{
    struct record_end end;
    end.at.file = (uint32_t)record_payload_later(b, 4);
    end.at.offset = record_payload_later(b, 8);
    end.at.lines = record_payload_later(b, 8);
    end.at.crc = (uint32_t)record_payload_later(b, 4);
    end.file_crc = (uint32_t)record_payload_later(b, 4);
    end.losses = (uint32_t)record_payload_later(b, 4);
    end.epoch = record_payload_later(b, 8);
    end.top_file = (uint32_t)record_payload_later(b, 4);
    end.top_offset = record_payload_later(b, 8);
    end.state = (uint8_t)record_payload_later(b, 1);
    *then = (uint32_t)record_payload_later(b, 4);
    end.skips = (uint32_t)record_payload_later(b, 4);
    return end;
}

void record_put_end_then(struct bytes *b, const struct record_end *end, uint32_t then)
{
    bool follows = then || end->skips;
    if (follows || end->at.file || end->epoch || end->state || end->top_file) {
        record_put_whole_end(b, end);
    }
    if (follows) {
        bytes_put_uint(b, then, 4);
        bytes_put_uint(b, end->skips, 4);
    }
}
