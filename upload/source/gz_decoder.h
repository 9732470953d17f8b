/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes a gzip file from any place on, and counts what that costs. */
#ifndef GPUFL_UPLOAD_SOURCE_GZ_DECODER_H
#define GPUFL_UPLOAD_SOURCE_GZ_DECODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <gpufl/status.h>

/** Input that holds nothing could keep a read busy for as long as somebody likes: a file
 * is damaged that costs more than its bytes account for. A member is 20 bytes more than
 * what it holds, and its header 64 KiB and names. */
#define GZ_DECODER_IDLE_MAX      (1u << 20)
#define GZ_DECODER_FOR_EACH_BYTE 128u

/** What is read to its end at once, as a comparison does, could hold a thousand times its
 * size: a file is excessive that has cost more than these two come to. Compressed lines
 * hold up to 30 times their size, each has a time of its own. */
#define GZ_DECODER_EXCESS_LEAST       (4u << 20)
#define GZ_DECODER_EXCESS_FOR_EACH_IN 128u

struct gz_decoder;

/** What one call has decoded. */
struct gz_piece {
    size_t len;
    uint64_t work; /**< what it has cost, as gz_work says, also on failure */
    bool part;     /**< it ended at its limit: there may be more */
    bool cut;      /**< the file ends within a member */
    bool failed;   /**< the file could not be read, which may pass */
};

/** \return what one call of inflate with Z_BLOCK costs that took \p in bytes and yielded
 * \p out: the bytes that come out of an ordinary file in the same time. A block costs
 * something though it may hold nothing, as its tables are built. */
uint64_t gz_work(size_t in, size_t out);

/** \p fd stays the caller's. \return NULL without memory or a descriptor. */
struct gz_decoder *gz_decoder_open(int fd);
void gz_decoder_close(struct gz_decoder *decoder);

/** \return true if the file begins like a gzip file; *failed if it cannot be read. */
bool gz_decoder_begins(const struct gz_decoder *decoder, bool *failed);

/** Copies up to \p cap bytes of the file as it is. \return -1 on failure. */
ssize_t gz_decoder_plain(const struct gz_decoder *decoder, uint64_t offset, char *buf,
                         size_t cap);

/** \return the uncompressed offset of what is decoded next. */
uint64_t gz_decoder_at(const struct gz_decoder *decoder);

/** \return what decoding it up to there has cost, since it was at its begin. */
uint64_t gz_decoder_way(const struct gz_decoder *decoder);

/** \return whether it has cost more than the bytes that were read of it account for. */
bool gz_decoder_is_excessive(const struct gz_decoder *decoder);

/** Goes back, if it is behind \p offset, to a place that is known and from which \p
 * before can be read, or else \p offset, or else to the begin. \return false without
 * memory. */
bool gz_decoder_back(struct gz_decoder *decoder, uint64_t before, uint64_t offset);

/** Keeps the place where it is now, to go back to it, unless one is kept that is at
 * \p least or behind it and from which \p before can be read; the one before is
 * forgotten.
 */
void gz_decoder_keep(struct gz_decoder *decoder, uint64_t least, uint64_t before);

/** Decodes up to \p cap bytes from \p offset on into \p buf, until that has cost \p
 * limit. \p offset is where it is now, or before, as gz_decoder_back has found. What
 * follows the last member is ignored, as gzip does. \return GPUFL_OK; GPUFL_ERR_FORMAT
 * when the file is broken, cut off or costs more than what it holds accounts for
 * (piece->len is what there is before); GPUFL_ERR_IO. */
GPUFL_MUST gpufl_status gz_decoder_read(struct gz_decoder *decoder, uint64_t offset,
                                        char *buf, size_t cap, uint64_t limit,
                                        struct gz_piece *piece);

#endif
