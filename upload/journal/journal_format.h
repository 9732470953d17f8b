/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a journal: header, frames, resynchronisation. journal.h describes them. */
#ifndef GPUFL_UPLOAD_JOURNAL_JOURNAL_FORMAT_H
#define GPUFL_UPLOAD_JOURNAL_JOURNAL_FORMAT_H

#include "upload/journal/journal.h"

#define JOURNAL_FILE_MAGIC  "GPUFLJ\r\n"
#define JOURNAL_FRAME_MAGIC 0x314a5247u /* "GRJ1" */
#define JOURNAL_FRAME_BYTES 24u
#define JOURNAL_HEADER_BYTES                                                             \
    24u /* magic 8, version 4, generation 4, root length 4, CRC 4 */
#define JOURNAL_ROOT_MAX 4096u

#define JOURNAL_RECORD_MAX (JOURNAL_FRAME_BYTES + JOURNAL_MAX_PAYLOAD)
#define JOURNAL_START_MAX  (JOURNAL_HEADER_BYTES + JOURNAL_ROOT_MAX + 8)

/** Makes the start of a file in \p out, JOURNAL_START_MAX bytes. \return its length; 0
 * when the root's name is too long. */
size_t journal_put_start(unsigned char *out, uint32_t generation, const char *root);

/** Makes a record in \p out, JOURNAL_RECORD_MAX bytes; \p len at most
 * JOURNAL_MAX_PAYLOAD. \return its length. */
size_t journal_put_record(unsigned char *out, uint64_t number, uint32_t type,
                          const void *payload, size_t len);

/** Replays \p data, a whole journal file, without opening anything: for status and
 * fuzzing. \return as journal_open. \p end gets the offset behind the last good record.
 */
GPUFL_MUST gpufl_status journal_parse(const unsigned char *data, size_t len,
                                      journal_replay_fn replay, void *arg, size_t *end,
                                      uint64_t *last_number, bool *damaged);

#endif
