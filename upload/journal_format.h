/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a journal: header, frames, resynchronisation. journal.h describes them. */
#ifndef GPUFL_UPLOAD_JOURNAL_FORMAT_H
#define GPUFL_UPLOAD_JOURNAL_FORMAT_H

#include "upload/journal.h"

#define JOURNAL_FILE_MAGIC  "GPUFLJ\r\n"
#define JOURNAL_FRAME_MAGIC 0x314a5247u /* "GRJ1" */
#define JOURNAL_FRAME_BYTES 24u
#define JOURNAL_HEADER_BYTES                                                             \
    24u /* magic 8, version 4, generation 4, root length 4, CRC 4 */
#define JOURNAL_ROOT_MAX 4096u

/** The head of a record. */
struct journal_frame {
    uint32_t magic, len, crc, type;
    uint64_t number;
};

/** \p len rounded up to 8 bytes. */
size_t journal_padded(size_t len);

/** CRC-32C over number, type, length and payload. */
uint32_t journal_frame_crc(const struct journal_frame *frame,
                           const unsigned char *payload);

/** Replays \p data, a whole journal file, without opening anything: for status and
 * fuzzing. \return as journal_open. \p end gets the offset behind the last good record.
 */
GPUFL_MUST gpufl_status journal_parse(const unsigned char *data, size_t len,
                                      journal_replay_fn replay, void *arg, size_t *end,
                                      uint64_t *last_number, bool *damaged);

#endif
