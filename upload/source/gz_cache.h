/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps gzip files open where the last read began and ended, so that reading one in
 * batches decompresses it about once and not once per batch. */
#ifndef GPUFL_UPLOAD_SOURCE_GZ_CACHE_H
#define GPUFL_UPLOAD_SOURCE_GZ_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <gpufl/status.h>

#define GZ_CACHE_SLOTS 32u

struct gz_decoder;

/** Zero-initialise; end with gz_cache_close. A used slot costs 80 KiB and a descriptor.
 */
struct gz_cache {
    struct {
        struct gz_decoder *decoder; /**< NULL = free */
        dev_t device;
        ino_t inode; /**< not reused while the file is open */
        uint64_t used;
    } slot[GZ_CACHE_SLOTS];
    uint64_t clock;
    uint64_t decoded; /**< bytes so far, also those that were only passed by */
    bool plain;       /**< the file that was read last is no gzip file */
    bool cut;         /**< … ends within a member */
    bool failed;      /**< … could not be read, which may pass */
};

/** Reads up to \p cap bytes at the uncompressed \p offset of \p fd, which stays the
 *  caller's, into \p buf. A file that is not gzip is read as it is. \return GPUFL_OK
 * with *len (0 at or beyond the end), GPUFL_ERR_FORMAT when the file is broken, cut off
 * or goes on for more than 128 KiB without holding anything (*len is what there is
 * before), GPUFL_ERR_IO when it could not be read, which may pass.
 */
GPUFL_MUST gpufl_status gz_cache_read(struct gz_cache *cache, int fd, uint64_t offset,
                                      char *buf, size_t cap, size_t *len);

void gz_cache_close(struct gz_cache *cache);

#endif
