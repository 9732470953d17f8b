/* SPDX-License-Identifier: Apache-2.0 */
/* A place in a stream, as senders and origins name it: README.md, "Positions". */
#ifndef GPUFL_SCHEMA_STREAM_PLACE_H
#define GPUFL_SCHEMA_STREAM_PLACE_H

#include <stdbool.h>
#include <stdint.h>

/** Behind a byte of a stream. `crc` is the CRC-32C of all its bytes up to here. */
struct stream_place {
    uint32_t file;
    uint64_t offset;
    uint64_t lines;
    uint32_t crc;
};

static inline bool stream_place_is(const struct stream_place *a,
                                   const struct stream_place *b)
{
    return a->file == b->file && a->offset == b->offset && a->lines == b->lines &&
           a->crc == b->crc;
}

/** \return true if \p a lies before \p b, whatever their bytes are. */
static inline bool stream_place_before(const struct stream_place *a,
                                       const struct stream_place *b)
{
    return a->file < b->file || (a->file == b->file && a->offset < b->offset);
}

/** Where the bytes of a part begin when it does not follow its `begin`. */
struct stream_start {
    bool given;
    uint32_t file;
    uint64_t offset;
    uint32_t file_crc; /**< of the bytes [0, offset) of the file */
};

#endif
