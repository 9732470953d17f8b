/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of complete sessions in few bytes each: what is as can be guessed from the
 * stream before, or from the position, takes none. */
#ifndef GPUFL_UPLOAD_JOURNAL_STREAM_PACK_H
#define GPUFL_UPLOAD_JOURNAL_STREAM_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "upload/journal/journal_records.h"

/** What is kept of a complete session's channel: the journal, the progress file and
 * `force` need it. */
struct packed_stream {
    uint64_t offset;
    uint64_t head;
    struct record_mark mark;
    struct record_sealed sealed;
    struct record_end end;
    uint64_t lines;
    uint32_t file;
    uint32_t sequence;
    uint32_t id;
    uint8_t channel;
    uint8_t kind;
    uint8_t layout;
    uint8_t marks; /**< as in its record */
};

/** The most bytes that one takes. */
#define STREAM_PACK_MAX 256u

/** Writes \p count streams to \p out, which has room for STREAM_PACK_MAX bytes of each.
 * \return the bytes written. */
size_t stream_pack(const struct packed_stream *stream, unsigned count,
                   unsigned char *out);

/** Reads \p count streams that were written so. */
void stream_unpack(const unsigned char *packed, unsigned count,
                   struct packed_stream *out);

#endif
