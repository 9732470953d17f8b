/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a channel from a position on, across rotations. */
#ifndef GPUFL_UPLOAD_SOURCE_TAIL_H
#define GPUFL_UPLOAD_SOURCE_TAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpufl/status.h>

#include "base/sys.h"
#include "upload/source/tail_where.h"

/** What was read. */
struct tail_chunk {
    size_t len;     /**< bytes in the caller's buffer */
    uint64_t hole;  /**< where->tells_holes, with len 0: so many zero bytes, of which the
                       file system has none, are at the position */
    bool sealed;    /**< the file will never grow */
    bool at_end;    /**< the buffer reaches the file's end as it was when read */
    uint64_t size;  /**< bytes of the file (uncompressed; only with at_end for gzip) */
    uint32_t index; /**< shifting layout: its number now */
    struct record_mark mark; /**< before where->mark_at, if that is known now */
    bool part; /**< it is compressed, and what it holds takes long to decode: what comes
                  after is there, though less was read than there is room for */
    bool excessive; /**< with GPUFL_ERR_FORMAT: see gz_cache.no_excess */
    bool packed;    /**< the file is compressed; live: the active one, by another tool */
    int64_t unchanged_since; /**< at offset 0, see struct sys */
    bool other;     /**< with GPUFL_ERR_FORMAT: another file has its name now … */
    bool shorter;   /**< … or it is sound, and ends before the position */
    bool elsewhere; /**< with GPUFL_ERR_IO: the directory is not where->directory */
    bool away;      /**< with GPUFL_ERR_NOT_FOUND: the directory is not there */
};

/** Reads up to \p cap bytes at the position into \p buf.
 *  \return GPUFL_OK (len may be 0); GPUFL_ERR_NOT_FOUND when there is no such file (yet);
 *  GPUFL_ERR_FORMAT when the file is shorter than the offset, is another one, or is a
 *  broken gzip file; GPUFL_BUSY when the cache is, and nothing is known yet;
 *  GPUFL_ERR_IO. */
GPUFL_MUST gpufl_status tail_read(const struct sys *sys, const struct tail_where *where,
                                  char *buf, size_t cap, struct tail_chunk *out);

/** \return true if \p chunk, which was read at \p where, shows that a sealed file of the
 * live layout is empty: its writer seals none, so what it held is lost. */
bool tail_is_emptied(const struct tail_where *where, const struct tail_chunk *chunk);

/** \return true if \p data, \p chunk of a sealed first file of the live layout, which was
 * read at \p where, does not begin its channel: what did is lost. */
bool tail_is_beheaded(const struct tail_where *where, const char *data,
                      const struct tail_chunk *chunk);

/** \return true if there is something to read at the position, or may be, or, live, a
 * plain file of that name that is another one or too short. */
bool tail_has_more(const struct sys *sys, const struct tail_where *where);

/** Compares the bytes before the position with where->mark, as tail_read does.
 *  \return FILE_UNREADABLE also when there is no such file; FILE_LATER as tail_read. */
enum file_match tail_compare(const struct sys *sys, const struct tail_where *where);

/** \return since when the live file at \p where is unchanged, as struct sys says, and 0
 * if it cannot be opened or is compressed. \p found becomes its identity. */
int64_t tail_unchanged_since(const struct sys *sys, const struct tail_where *where,
                             struct file_known *found);

/** Opens the payload of the v1.3 window at \p where for reading into *fd; *gz tells its
 *  kind.
 *  \return GPUFL_OK, GPUFL_ERR_NOT_FOUND or GPUFL_ERR_IO. */
GPUFL_MUST gpufl_status tail_open_window(const struct sys *sys,
                                         const struct tail_where *where, int *fd,
                                         bool *gz);

#endif
