/* SPDX-License-Identifier: Apache-2.0 */
/* Tells whether a file is the one of which a part was read before: by its identity while
 * it exists, otherwise by the last bytes that were read of it. */
#ifndef GPUFL_UPLOAD_SOURCE_FILE_MARK_H
#define GPUFL_UPLOAD_SOURCE_FILE_MARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sys.h"
#include "upload/journal/journal_records.h"
#include "upload/source/gz_cache.h"

/** Identity of a file while it exists; all zero = not known. Numbers of inodes are used
 * again, so the time of birth belongs to it where the file system tells it. */
struct file_known {
    uint64_t device;
    uint64_t inode;
    int64_t born_ns;
};

enum file_match {
    FILE_MATCHES,
    FILE_SHORTER, /**< it ends before the position */
    FILE_DIFFERS, /**< other bytes stand before the position */
    FILE_UNREADABLE,
    FILE_LATER, /**< it is compressed and was not read so far yet: gz_cache_turn */
};

/** \return the identity of an open file. */
struct file_known file_known_of(int fd);

/** \return true if both are known and the same. */
bool file_known_same(const struct file_known *a, const struct file_known *b);

/** \return \p mark moved over \p len bytes that follow it; it covers 4 KiB at most. */
struct record_mark file_mark_over(struct record_mark mark, const char *data, size_t len);

/** Checksums over the files of a channel, one behind the other. */
struct file_run {
    uint64_t offset;         /**< of the current file */
    uint32_t crc;            /**< CRC-32C of all bytes up to there */
    uint32_t file_crc;       /**< of those of the current file */
    struct record_mark mark; /**< of the last ones of it */
    bool torn;               /**< the last byte ends no line */
};

/** Adds \p len bytes that follow; NULL for \p data = so many zero bytes. */
void file_run_add(struct file_run *run, const char *data, uint64_t len);

/** Compares the bytes before \p at with \p mark. A mark that is not known matches every
 * file in which a line, or the file, ends at \p at. A compressed file is read through
 * \p gz; NULL = it is not compressed. */
enum file_match file_mark_match(const struct sys *sys, int fd, struct gz_cache *gz,
                                const struct record_mark *mark, uint64_t at);

/** \return the mark of the last bytes before \p at, at most 4 KiB; not known if they
 * cannot be read. */
struct record_mark file_mark_read(const struct sys *sys, int fd, uint64_t at);

/** \return true if \p fd, a compressed file if \p gz is set, is a copy of the beginning
 * of \p of: of its first 64 KiB, all stand at the beginning of that, and a line of a
 * record that no writer repeats is among them, unless \p of is known to have its name:
 * then \p due is set, and an empty file is one, too. It cannot be a copy if it is larger.
 * \p cache is told what it cost to unpack; NULL = nothing is. */
bool file_copy_is(const struct sys *sys, int of, int fd, bool gz, bool due,
                  struct gz_cache *cache);

#endif
