/* SPDX-License-Identifier: Apache-2.0 */
/* Finds files of the 1.1 layout, whose names shift: `<ch>.log` is the active file,
 * `<ch>.1.log` the newest rotated one, the highest number the oldest; each may be
 * compressed and then ends in `.gz`. Each rotation raises all numbers by one and deletes
 * the file beyond 100. So a file is identified by its head and the bytes that were sent
 * of it, never by its name, and its number can only have risen since it was last seen.
 * Several files may begin with the same line. A directory that never rotated holds the
 * active file alone.
 *
 * Nothing is lost where a number is free for a moment, during a rotation. If it stays so,
 * its file is gone, or the writer died then: nothing tells which. */
#ifndef GPUFL_UPLOAD_SOURCE_SHIFTING_H
#define GPUFL_UPLOAD_SOURCE_SHIFTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpufl/status.h>

#include "base/sys.h"
#include "upload/source/shifting_numbers.h"

/** Opens the file whose head is \p where->head, at \p where->index or beyond. Of several
 * it is the one with \p where->mark; while nothing was read of it, \p where->known.
 *  \return GPUFL_OK with *fd and *index; GPUFL_ERR_NOT_FOUND when there is none, or no
 * telling which of several it is; GPUFL_ERR_FORMAT when it is shorter than the position,
 * or, *gz, a compressed one that is cut off or damaged before it; GPUFL_ERR_IO;
 * GPUFL_BUSY when where->cache is, and nothing is known yet. */
GPUFL_MUST gpufl_status shifting_open(const struct sys *sys,
                                      const struct tail_where *where, int *fd, bool *gz,
                                      uint32_t *index);

/** Finds the oldest file; \p highest is the highest number that a scan has just seen.
 *  \return GPUFL_OK; GPUFL_ERR_NOT_FOUND when there is none, or only an active one
 * without a head; GPUFL_ERR_FORMAT when a rotated one has none; GPUFL_ERR_IO. */
GPUFL_MUST gpufl_status shifting_first(const struct sys *sys,
                                       const struct tail_where *where, uint32_t highest,
                                       struct shifting_place *out);

/** Finds the next newer file than \p where->head, whether or not numbers between them
 * are free. \return as shifting_first. */
GPUFL_MUST gpufl_status shifting_next(const struct sys *sys,
                                      const struct tail_where *where,
                                      struct shifting_place *out);

/** Finds the next newer file that can be read: after \p where->head, or, if that is 0,
 * from number \p highest down. \return GPUFL_OK; GPUFL_ERR_NOT_FOUND if there is none;
 * GPUFL_ERR_IO if that file is there, but another one cannot be read. */
GPUFL_MUST gpufl_status shifting_skip(const struct sys *sys,
                                      const struct tail_where *where, uint32_t highest,
                                      struct shifting_place *out);

/** Finds the file of which the first 512 bytes have this CRC-32 (zlib's), at
 *  \p where->index or beyond; with \p crc 0 the one at \p where->index. \return as
 *  shifting_first. */
GPUFL_MUST gpufl_status shifting_by_crc(const struct sys *sys,
                                        const struct tail_where *where, uint32_t crc,
                                        struct shifting_place *out);

/** \return true if the file at \p index, which has the bytes before \p where, is another
 * one nevertheless: it goes on as where->before did, or no more than its first line is
 * known, with which others may begin, and its number, or the next older file, does not
 * fit. A disk that lost power has taken back the last rotation, files were deleted, or
 * the directory is an older copy. \p later is set if where->cache is busy, and nothing is
 * known yet. */
bool shifting_is_doubtful(const struct sys *sys, const struct tail_where *where,
                          uint32_t index, bool *later);

/** True when the numbers are so high that the writer deletes files. */
bool shifting_overflows(const struct sys *sys, const struct tail_where *where);

#endif
