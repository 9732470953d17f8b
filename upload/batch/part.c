/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the places of parts and writes the line that names them. */
#include "upload/batch/part.h"

#include <string.h>

#include "base/crc32c.h"
#include "base/crc32c_combine.h"
#include "upload/core/engine_state.h"
#include "upload/http/encode.h"
#include "upload/http/positions_text.h"
#include "upload/source/ndjson.h"

/* The file's checksum where the part begins. */
static uint32_t part_file_crc(const struct offer *offer)
{
    const struct stream *st = offer->stream;
    return st->jump                                ? st->jump_crc
           : offer->record.file != st->end.at.file ? 0
                                                   : st->end.file_crc;
}

/* Nothing of it was stored, so nothing else of it was given up. A later file that has the
 * name of the first one does not begin so. */
static bool part_returns(const struct stream *st, const char *raw, size_t len)
{
    static const struct stream_place begin = {.file = 1};
    return st->lost && !st->gap && !st->jump && st->session->layout == SESSION_LIVE &&
           st->ended_file == 1 && st->file == 1 && st->offset == 0 &&
           stream_place_is(&st->end.at, &begin) &&
           ndjson_begin_of(raw, len) == NDJSON_BEGIN_FIRST;
}

void part_measure(struct offer *offer, size_t len)
{
    const char *raw = offer->stream->session->root->engine->raw;
    part_measure_over(offer, crc32c(0, raw, len));
    offer->part.returns = part_returns(offer->stream, raw, len);
}

void part_measure_over(struct offer *offer, uint32_t crc)
{
    const struct stream *st = offer->stream;
    uint64_t len = offer->record.end - offer->record.begin;
    struct offer_part *part = &offer->part;
    part->begin = st->end.at;
    part->losses = st->end.losses + st->jump;
    part->skips = st->end.skips;
    if (st->jump) {
        part->start = (struct stream_start){.given = true,
                                            .file = offer->record.file,
                                            .offset = offer->record.begin,
                                            .file_crc = part_file_crc(offer)};
    }
    part->file_crc = crc32c_combine(part_file_crc(offer), crc, len);
    part->end = (struct stream_place){.file = offer->record.file,
                                      .offset = offer->record.end,
                                      .lines = part->begin.lines + offer->record.lines,
                                      .crc = crc32c_combine(part->begin.crc, crc, len)};
}

bool part_is_same(const struct offer *offer, size_t len)
{
    const char *raw = offer->stream->session->root->engine->raw;
    return offer->record.end - offer->record.begin == len &&
           crc32c(offer->part.begin.crc, raw, len) == offer->part.end.crc;
}

size_t part_encode_line(const struct offer *offer, char out[PART_LINE_MAX])
{
    const struct stream *st = offer->stream;
    char line[POSITIONS_LINE_MAX];
    const void *encoded;
    size_t len;
    struct part_said said = {.session = st->session->id,
                             .channel = stream_channel(st),
                             .begin = offer->part.begin,
                             .end = offer->part.end,
                             .start = offer->part.start,
                             .skip = offer->part.skip != NULL,
                             .reopens = st->reopens,
                             .added_newline =
                                 offer->record.unterminated && !offer->part.skip};
    if (encoder_encode(st->session->root->engine->encoder,
                       (enum codec)offer->record.codec, line,
                       positions_text_part(line, &said), &encoded, &len) != GPUFL_OK ||
        len > PART_LINE_MAX) {
        return 0;
    }
    memcpy(out, encoded, len);
    return len;
}
