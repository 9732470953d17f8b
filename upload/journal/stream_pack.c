/* SPDX-License-Identifier: Apache-2.0 */
/* A stream is a row of numbers. Of each, its difference in bits from a guess is written,
 * seven bits a byte, unless there is none; three bytes before them say which are there.
 */
#include "upload/journal/stream_pack.h"

#include <string.h>

enum pack_number {
    PACK_KIND, /* first, as the others are guessed by them */
    PACK_FILE,
    PACK_OFFSET,
    PACK_LINES,
    PACK_HEAD,
    PACK_MARK_BYTES,
    PACK_MARK_CRC,
    PACK_SEALED_STREAM,
    PACK_SEALED_FILE, /* and the last one that was deleted, in its upper half */
    PACK_SEALED_BYTES,
    PACK_SEALED_MARK_BYTES,
    PACK_SEALED_MARK_CRC,
    PACK_END_FILE,
    PACK_END_OFFSET,
    PACK_END_LINES,
    PACK_END_CRC,
    PACK_END_FILE_CRC,
    PACK_END_LOSSES, /* and the skips, in its upper half */
    PACK_END_EPOCH,
    PACK_END_TOP_FILE,
    PACK_END_TOP_OFFSET,
    PACK_END_STATE,
    PACK_SEQUENCE,
    PACK_ID,
    PACK_NUMBERS
};

#define PACK_PRESENT 3u /* bytes that say which of the numbers follow */

_Static_assert(PACK_NUMBERS <= 8 * PACK_PRESENT, "each number has a bit");
_Static_assert(PACK_PRESENT + 10 * PACK_NUMBERS <= STREAM_PACK_MAX, "all fit");

/* PACK_KIND holds these in its bytes. */
static uint64_t stream_pack_kind(const struct packed_stream *s)
{
    return s->channel | (uint64_t)s->kind << 8 | (uint64_t)s->layout << 16 |
           (uint64_t)s->marks << 24;
}

static void stream_pack_numbers(const struct packed_stream *s, uint64_t out[PACK_NUMBERS])
{
    const uint64_t number[PACK_NUMBERS] = {
        [PACK_KIND] = stream_pack_kind(s),
        [PACK_FILE] = s->file,
        [PACK_OFFSET] = s->offset,
        [PACK_LINES] = s->lines,
        [PACK_HEAD] = s->head,
        [PACK_MARK_BYTES] = s->mark.bytes,
        [PACK_MARK_CRC] = s->mark.crc32,
        [PACK_SEALED_STREAM] = s->sealed.stream,
        [PACK_SEALED_FILE] = s->sealed.file | (uint64_t)s->sealed.deleted << 32,
        [PACK_SEALED_BYTES] = s->sealed.bytes,
        [PACK_SEALED_MARK_BYTES] = s->sealed.mark.bytes,
        [PACK_SEALED_MARK_CRC] = s->sealed.mark.crc32,
        [PACK_END_FILE] = s->end.at.file,
        [PACK_END_OFFSET] = s->end.at.offset,
        [PACK_END_LINES] = s->end.at.lines,
        [PACK_END_CRC] = s->end.at.crc,
        [PACK_END_FILE_CRC] = s->end.file_crc,
        [PACK_END_LOSSES] = s->end.losses | (uint64_t)s->end.skips << 32,
        [PACK_END_EPOCH] = s->end.epoch,
        [PACK_END_TOP_FILE] = s->end.top_file,
        [PACK_END_TOP_OFFSET] = s->end.top_offset,
        [PACK_END_STATE] = s->end.state,
        [PACK_SEQUENCE] = s->sequence,
        [PACK_ID] = s->id};
    memcpy(out, number, sizeof number);
}

static struct packed_stream stream_pack_make(const uint64_t n[PACK_NUMBERS])
{
    return (struct packed_stream){
        .offset = n[PACK_OFFSET],
        .head = n[PACK_HEAD],
        .mark = {(uint32_t)n[PACK_MARK_BYTES], (uint32_t)n[PACK_MARK_CRC]},
        .sealed = {.stream = (uint32_t)n[PACK_SEALED_STREAM],
                   .file = (uint32_t)n[PACK_SEALED_FILE],
                   .deleted = (uint32_t)(n[PACK_SEALED_FILE] >> 32),
                   .bytes = n[PACK_SEALED_BYTES],
                   .mark = {(uint32_t)n[PACK_SEALED_MARK_BYTES],
                            (uint32_t)n[PACK_SEALED_MARK_CRC]}},
        .end = {.at = {.file = (uint32_t)n[PACK_END_FILE],
                       .offset = n[PACK_END_OFFSET],
                       .lines = n[PACK_END_LINES],
                       .crc = (uint32_t)n[PACK_END_CRC]},
                .file_crc = (uint32_t)n[PACK_END_FILE_CRC],
                .losses = (uint32_t)n[PACK_END_LOSSES],
                .skips = (uint32_t)(n[PACK_END_LOSSES] >> 32),
                .epoch = n[PACK_END_EPOCH],
                .top_file = (uint32_t)n[PACK_END_TOP_FILE],
                .top_offset = n[PACK_END_TOP_OFFSET],
                .state = (uint8_t)n[PACK_END_STATE]},
        .lines = n[PACK_LINES],
        .file = (uint32_t)n[PACK_FILE],
        .sequence = (uint32_t)n[PACK_SEQUENCE],
        .id = (uint32_t)n[PACK_ID],
        .channel = (uint8_t)n[PACK_KIND],
        .kind = (uint8_t)(n[PACK_KIND] >> 8),
        .layout = (uint8_t)(n[PACK_KIND] >> 16),
        .marks = (uint8_t)(n[PACK_KIND] >> 24)};
}

/* What number \p i of a stream is like: as in the stream \p before, or as what \p n says
 * of it already. \return the guess. */
static uint64_t stream_pack_guess(const uint64_t before[PACK_NUMBERS],
                                  const uint64_t n[PACK_NUMBERS], unsigned i)
{
    bool positions = n[PACK_KIND] >> 24 & MARK_POSITIONS;
    switch (i) {
    case PACK_KIND: /* of the next channel */
        return before[PACK_KIND] + 1;
    case PACK_MARK_BYTES: /* of a small file, all */
        return n[PACK_OFFSET];
    case PACK_END_FILE:
        return positions ? n[PACK_FILE] : 0;
    case PACK_END_OFFSET:
        return positions ? n[PACK_OFFSET] : 0;
    case PACK_END_LINES:
        return positions ? n[PACK_LINES] : 0;
    case PACK_END_FILE_CRC: /* of one that has one file */
        return n[PACK_END_CRC];
    case PACK_END_TOP_FILE:
        return n[PACK_END_FILE];
    case PACK_END_TOP_OFFSET:
        return n[PACK_END_OFFSET];
    case PACK_ID:
        return before[PACK_ID] + 1;
    case PACK_FILE:
    case PACK_LINES:
    case PACK_END_EPOCH:
    case PACK_END_STATE:
    case PACK_SEQUENCE:
        return before[i];
    default:
        return 0;
    }
}

static size_t stream_pack_put(unsigned char *out, uint64_t bits)
{
    size_t len = 0;
    for (; bits > 0x7f; bits >>= 7) {
        out[len++] = (unsigned char)(bits | 0x80);
    }
    out[len++] = (unsigned char)bits;
    return len;
}

static size_t stream_pack_get(const unsigned char *at, uint64_t *bits)
{
    size_t len = 0;
    *bits = 0;
    do {
        *bits |= (uint64_t)(at[len] & 0x7f) << (7 * len);
    } while (at[len++] & 0x80);
    return len;
}

size_t stream_pack(const struct packed_stream *stream, unsigned count, unsigned char *out)
{
    uint64_t row[2][PACK_NUMBERS] = {{0}};
    unsigned char *at = out;
    for (unsigned s = 0; s < count; s++) {
        uint64_t *n = row[s & 1];
        unsigned char *present = at;
        stream_pack_numbers(&stream[s], n);
        memset(present, 0, PACK_PRESENT);
        at += PACK_PRESENT;
        for (unsigned i = 0; i < PACK_NUMBERS; i++) {
            uint64_t bits = n[i] ^ stream_pack_guess(row[~s & 1], n, i);
            if (bits) {
                present[i / 8] |= (unsigned char)(1u << i % 8);
                at += stream_pack_put(at, bits);
            }
        }
    }
    return (size_t)(at - out);
}

void stream_unpack(const unsigned char *packed, unsigned count, struct packed_stream *out)
{
    uint64_t row[2][PACK_NUMBERS] = {{0}};
    for (unsigned s = 0; s < count; s++) {
        uint64_t *n = row[s & 1];
        const unsigned char *present = packed;
        packed += PACK_PRESENT;
        for (unsigned i = 0; i < PACK_NUMBERS; i++) {
            uint64_t bits = 0;
            if (present[i / 8] >> i % 8 & 1) {
                packed += stream_pack_get(packed, &bits);
            }
            n[i] = bits ^ stream_pack_guess(row[~s & 1], n, i);
        }
        out[s] = stream_pack_make(n);
    }
}
