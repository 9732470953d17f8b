/* SPDX-License-Identifier: Apache-2.0 */
/* Finds files of the 1.1 layout, whose names shift: `<ch>.log` is the active file,
 * `<ch>.1.log` the newest rotated one, the highest number the oldest; each may be
 * compressed and then ends in `.gz`. Each rotation raises all numbers by one and deletes
 * the file beyond 100. So a file is identified by its head and the bytes that were sent
 * of it, never by its name, and its number can only have risen since it was last seen.
 * Several files may begin with the same line. A directory that never rotated holds the
 * active file alone.
 *
 * A writer that died during a rotation leaves a number free: nothing is lost. */
#ifndef GPUFL_UPLOAD_SOURCE_SHIFTING_H
#define GPUFL_UPLOAD_SOURCE_SHIFTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpufl/status.h>

#include "base/sys.h"
#include "upload/source/tail_where.h"

/** Longest head of a file, in bytes. */
#define SHIFTING_HEAD_BYTES 512u

/** A file and its present number. */
struct shifting_place {
    uint32_t index; /**< 0 = active, else its number */
    uint64_t head;
    bool begins; /**< its head has a job_start: it is the first of its channel */
    struct file_known known;
};

/** Hash (FNV-1a) of the first line, of its first 512 bytes at most. 0 = not known yet:
 * the file has neither a whole line nor 512 bytes. */
uint64_t shifting_head(const char *data, size_t len);

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

/** Finds the next newer file than \p where->head. \return as shifting_first. */
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

/** \return true if nothing tells that the file at \p index is the one of \p where, but
 * its first line, with which others may begin, and if that were newer than all that are
 * there from the channel's first one on, or one that says nothing: a disk that lost power
 * has taken back the last rotation, or the directory is an older copy. */
bool shifting_is_too_new(const struct sys *sys, const struct tail_where *where,
                         uint32_t index);

/** True when the numbers are so high that the writer deletes files. */
bool shifting_overflows(const struct sys *sys, const struct tail_where *where);

#endif
