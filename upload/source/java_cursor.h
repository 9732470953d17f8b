/* SPDX-License-Identifier: Apache-2.0 */
/* `cursor.json` of the existing JVM agent: its position in each stream. Read once, when
 * this agent replaces it, so that nothing is sent again.
 *
 *     {"streams":{"<session>.<channel>":{"fileIndex":4,"offset":0,"headSig":0,…}}} */
#ifndef GPUFL_UPLOAD_SOURCE_JAVA_CURSOR_H
#define GPUFL_UPLOAD_SOURCE_JAVA_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpufl/status.h>

struct java_cursor;

/** Its position in one channel. */
struct java_position {
    uint32_t file_index; /**< windows: the next one to send; 1.1: 0 active, N rotated */
    uint64_t offset;     /**< uncompressed bytes sent of that file */
    uint32_t head_crc;   /**< CRC-32 of the file's first 512 bytes, 0 = not known */
};

/** Reads \p path. *out is the caller's.
 *  \return GPUFL_OK; GPUFL_ERR_NOT_FOUND if there is none, or an empty one or `{}`;
 * GPUFL_ERR_USAGE if it is no regular file; GPUFL_ERR_FORMAT, GPUFL_ERR_IO or
 * GPUFL_ERR_NOMEM. Of all but GPUFL_OK, \p fault is the reason. */
GPUFL_MUST gpufl_status java_cursor_open(const char *path, struct java_cursor **out,
                                         const char **fault);

/** The same for \p text. */
GPUFL_MUST gpufl_status java_cursor_parse(const char *text, size_t len,
                                          struct java_cursor **out);

/** \return false when there is no valid entry for this stream; \p cursor may be NULL. */
bool java_cursor_find(const struct java_cursor *cursor, const char *session,
                      const char *channel, struct java_position *out);

void java_cursor_close(struct java_cursor *cursor);

#endif
