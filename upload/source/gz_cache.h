/* SPDX-License-Identifier: Apache-2.0 */
/* Gzip files kept open at the place where the last read ended, so that reading one in
 * batches decompresses it once, not once a batch. */
#ifndef GPUFL_UPLOAD_SOURCE_GZ_CACHE_H
#define GPUFL_UPLOAD_SOURCE_GZ_CACHE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <gpufl/status.h>

#define GZ_CACHE_SLOTS 4u

struct gzFile_s;

/** Zero-initialise; end with gz_cache_close. About 64 KiB and a descriptor a used slot.
 */
struct gz_cache {
    struct {
        struct gzFile_s *file; /**< of zlib; NULL = free */
        dev_t device;
        ino_t inode; /**< cannot be used anew while we hold the file open */
        uint64_t used;
    } slot[GZ_CACHE_SLOTS];
    uint64_t clock;
};

/** Reads up to \p cap bytes at the uncompressed \p offset of \p fd, which stays the
 *  caller's, into \p buf. A file that is no gzip is read as it is. \return GPUFL_OK
 * with *len (0 at or beyond the end), GPUFL_ERR_FORMAT when the file is broken,
 * GPUFL_ERR_IO.
 */
GPUFL_MUST gpufl_status gz_cache_read(struct gz_cache *cache, int fd, uint64_t offset,
                                      char *buf, size_t cap, size_t *len);

void gz_cache_close(struct gz_cache *cache);

#endif
