/* SPDX-License-Identifier: Apache-2.0 */
/* What several types of records have in common. */
#ifndef GPUFL_UPLOAD_JOURNAL_RECORD_POSITION_H
#define GPUFL_UPLOAD_JOURNAL_RECORD_POSITION_H

#include <stdint.h>

#include "base/bytes.h"
#include "schema/stream_place.h"

/** The last bytes of a file before a position: by these the file is known again. */
struct record_mark {
    uint32_t bytes; /**< how many, 0 = not known */
    uint32_t crc32; /**< of these bytes */
};

/** What else is to be known of an end. */
enum end_state {
    END_PROVED,
    END_DISPUTED, /**< the backend told another one: it has other bytes */
    END_PARTING, /**< likewise, or it has more, and a person said to go on where the bytes
                    part */
    END_CUT,     /**< own files end before it: their disk lost what the backend has */
    END_EXPIRED, /**< the backend has deleted what it had */
    END_LONGER,  /**< the backend told another one: it has more */
    END_UNPROVED, /**< likewise, and the file that would prove it is not there */
    END_BELIEVED, /**< likewise, and a person said to go on behind it */
    END_COPY, /**< as END_CUT: own files are an earlier copy, and a person said that this
                 is all there is */
};

/** Where a stream that goes by positions ends at the backend, as own bytes proved. */
struct record_end {
    struct stream_place at; /**< file 0 = not known */
    uint32_t file_crc;      /**< CRC-32C of the bytes [0, offset) of the file */
    uint32_t losses;        /**< ranges that were declared lost before it */
    uint32_t skips;         /**< lines before it that were not sent, as the backend told.
                                 Earlier versions do not tell */
    uint64_t epoch;         /**< stands for that of the backend, 0 = not known */
    uint32_t top_file;      /**< the farthest end that was ever proved */
    uint64_t top_offset;
    uint8_t state; /**< enum end_state */
};

void record_put_mark(struct bytes *b, const struct record_mark *mark);
struct record_mark record_get_mark(struct bytes *b);

/** With a number that follows the end; writes nothing where there is neither, as in
 * records of earlier versions. */
void record_put_end_then(struct bytes *b, const struct record_end *end, uint32_t then);
struct record_end record_get_end_then(struct bytes *b, uint32_t *then);

#endif
