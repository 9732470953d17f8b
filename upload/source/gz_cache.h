/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps gzip files open where the last read began and ended, so that reading one in
 * batches decompresses it about once and not once per batch. */
#ifndef GPUFL_UPLOAD_SOURCE_GZ_CACHE_H
#define GPUFL_UPLOAD_SOURCE_GZ_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include <gpufl/status.h>

#define GZ_CACHE_SLOTS 16u

/** So much is decoded in one turn of a stream to reach the place that is to be read:
 * anybody can make a file of any size that is read from any place on. It is counted as
 * gz_work does. */
#define GZ_CACHE_STEP_BYTES (16u << 20)

/** Files that were compared with a mark and are remembered. */
#define GZ_CACHE_MARKS 256u

struct gz_decoder;

/** Zero-initialise; end with gz_cache_close. A used slot costs 80 KiB and a descriptor.
 */
struct gz_cache {
    struct {
        struct gz_decoder *decoder; /**< NULL = free */
        dev_t device;
        ino_t inode; /**< not reused while the file is open */
        off_t bytes; /**< of the file, and the time of its last change: once it has
                        changed, it is decoded from its start again */
        struct timespec modified;
        uint32_t owner;
        const void *reader;
        uint64_t used;
        uint64_t used_ms;
        bool pending; /**< its decoder is on its way to the place that is to be read */
        bool begun;   /**< a batch was read … */
        bool ended;   /**< … the last one, too */
        uint64_t way; /**< what it had cost when the first one was read */
        uint64_t kept_until_ms; /**< the owner's other files do not take it before */
    } slot[GZ_CACHE_SLOTS];
    uint64_t clock;
    uint64_t step_bytes; /**< that are decoded in one turn, see gz_cache_turn; 0 = any */
    uint64_t left;       /**< of them */
    uint64_t ahead_left; /**< … while the place is held */
    uint64_t spent;      /**< in this turn, also by reads */
    uint64_t read_most;  /**< that one read may cost; 0 = what its size allows */
    uint64_t now_ms;
    uint32_t owner;     /**< who reads: gz_cache_for */
    const void *reader; /**< … */
    bool busy;          /**< something was left for a later turn in this one … */
    bool full;          /**< … as all decoders are on their way */
    bool holds_place;   /**< the place before is kept while others behind it are read */
    struct {
        uint64_t stamp; /**< of the file and the mark */
        uint32_t owner; /**< who asked */
        int match;
    } mark[GZ_CACHE_MARKS];
    unsigned marks; /**< that were ever noted */
    uint64_t work;  /**< so far, also for what was only passed by */
    bool plain;     /**< the file that was read last is no gzip file */
    bool cut;       /**< … ends within a member */
    bool failed;    /**< … could not be read, which may pass */
    bool part;      /**< … goes on behind what one read decodes */
    bool no_excess; /**< a file that gz_decoder_is_excessive() is read no further … */
    bool excessive; /**< … as the one that was read last */
};

/** Begins a turn, in which at most step_bytes are decoded to reach places. */
void gz_cache_turn(struct gz_cache *cache, uint64_t now_ms);

/** Names whose files are read from now on. A decoder serves one \p reader. If all are in
 * use, the owner who has the most gives one up; no other loses one that is on its way,
 * unless it was not used for a minute. Nor do the owner's own files take one from another
 * while batches of that are read, unless it has yielded more than it costs to come back
 * there. \return the cache. */
struct gz_cache *gz_cache_for(struct gz_cache *cache, uint32_t owner, const void *reader);

/** Takes \p bytes of the turn's for what costs as much as decoding them. \return false,
 * and the cache is busy, if it has no more. */
bool gz_cache_spend(struct gz_cache *cache, uint64_t bytes);

/** Counts what was decoded in this turn without the cache. */
void gz_cache_note(struct gz_cache *cache, uint64_t work);

/** \return what was decoded in this turn. */
uint64_t gz_cache_spent(const struct gz_cache *cache);

/** From now on, or no longer, the decoder keeps the place that was read last while what
 * lies behind it is read: both in one turn. Whatever was sent at once is not so far. */
void gz_cache_hold_place(struct gz_cache *cache, bool holds);

/** Reads up to \p cap bytes at the uncompressed \p offset of \p fd, which stays the
 *  caller's, into \p buf. A file that is not gzip is read as it is. \return GPUFL_OK
 * with *len (0 at or beyond the end; with cache->part, less than there is, but some),
 * GPUFL_ERR_FORMAT when the file is broken, cut off
 * or holds next to nothing for its size (*len is what there is before), or is excessive,
 * see no_excess; GPUFL_ERR_IO when
 * it could not be read, which may pass; GPUFL_BUSY, and the cache is busy, when the place
 * was not reached in this turn, or it has read enough: the next one goes on.
 */
GPUFL_MUST gpufl_status gz_cache_read(struct gz_cache *cache, int fd, uint64_t offset,
                                      char *buf, size_t cap, size_t *len);

void gz_cache_close(struct gz_cache *cache);

#endif
