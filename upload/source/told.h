/* SPDX-License-Identifier: Apache-2.0 */
/* What the writer of a live session tells of its files, in its lock file. */
#ifndef GPUFL_UPLOAD_SOURCE_TOLD_H
#define GPUFL_UPLOAD_SOURCE_TOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/sys.h"
#include "schema/channels.h"
#include "schema/layout.h"
#include "upload/source/gz_cache.h"
#include "upload/source/identity.h"
#include "upload/source/unread.h"

/** What the writer of a live session tells in its lock file. */
struct active_files {
    char boot_id[40];
    uint32_t number[CHANNEL_COUNT]; /**< of the active file; 0 = not told */
    int64_t bytes[CHANNEL_COUNT];   /**< no more than that are in it; -1 = not told */
    int64_t least[CHANNEL_COUNT];   /**< no fewer; -1 = not told, by earlier versions */
    int64_t inode[CHANNEL_COUNT];   /**< -1 = likewise */
    char lock_file[LAYOUT_LOCK_FILE_TEXT]; /**< where those count */
};

/** Reads the text of a lock file. \return GPUFL_OK or GPUFL_ERR_FORMAT, also when it is
 * empty. */
GPUFL_MUST gpufl_status active_files_parse(const char *text, size_t len,
                                           struct active_files *out);

/** Reads the lock file in the session's directory \p dir. An empty one is not opened: if
 * a writer in this process holds a POSIX lock on it, as those of the existing client do,
 * closing it would release that. \p now: it was told on this boot. Inodes are those of
 * this directory: a copy, and one whose file system shows other numbers here, has none. A
 * power failure may keep that and take back what it tells of, or the other way round.
 * \return GPUFL_ERR_NOT_FOUND if its writer told nothing, or we may not read it;
 * GPUFL_ERR_IO if it cannot be read now, which says nothing. */
GPUFL_MUST gpufl_status told_read(const struct sys *sys, int dir,
                                  struct active_files *out, bool *now);

/** \return the number of the active file of \p channel; 0 = it was not told. */
uint32_t told_number(const struct active_files *told, const char *channel);

/** \return the number of the active file of \p channel if \p st is that file, as its
 * writer told; else 0. */
uint32_t told_number_at(const struct active_files *told, const char *channel,
                        const struct stat *st);

/** \return true if \p offset of file number \p file lies at or behind the end that was
 * told: of the file after the one that it names, nothing was written yet. */
bool told_is_reached(const struct active_files *told, const char *channel, uint32_t file,
                     uint64_t offset);

/** What was told on another boot may be older than the files. \return true if it is as
 * old: the number that it tells is the one after \p highest, or the active file of \p
 * channel in \p dir is the one that it means, and has that number. A power failure may
 * take a rename back, which leaves another one. */
bool told_agrees(int dir, enum channel channel, const struct active_files *told,
                 uint32_t highest);

/** Finds which file of \p channel \p fd is, if its writer in \p dir told that it is the
 * active one. \param number 0 = it did not. \return GPUFL_OK, or GPUFL_ERR_IO: what was
 * told cannot be read now. */
GPUFL_MUST gpufl_status told_number_of(const struct sys *sys, int dir,
                                       const char *channel, int fd, uint32_t *number);

/** Whether the active file that has the name is the one that its writer wrote. */
enum told_fit {
    TOLD_FITS,  /**< as far as is known */
    TOLD_LESS,  /**< it has less than was written, or lacked some when more was */
    TOLD_OTHER, /**< it is another one, and its size is not the one that was told */
    TOLD_LATER, /**< the files of a copy are not as old as each other */
};

/** Compares the active file of \p channel in \p dir with what its writer told on this
 * boot. A writer that lives only makes it larger, or gives it its name back. */
enum told_fit told_compare(const struct sys *sys, int dir, enum channel channel,
                           const struct active_files *told);

/** What statx is asked for told_lock_is_named(). */
#define TOLD_LOCK_ASKED (STATX_INO | STATX_BTIME)

/** \return true if \p lock, a session's lock file, is the one that \p manifest names. Its
 * inode may be another file's later, so that the time at which it was made counts, too,
 * to the millisecond, where both are told. */
bool told_lock_is_named(const struct statx *lock, const struct manifest *manifest);

/** \return true if the session's directory \p dir is a copy of the one that its writer
 * made: its lock file is another one than \p manifest names, or was not copied. Where
 * file systems show other numbers, a directory cannot be told from a copy. */
bool told_is_copy(int dir, const struct manifest *manifest);

/** \return true if the lock file of a copy tells another number or size than its active
 * file of \p channel has, the one after \p highest: the writer went on while the copy was
 * made. */
bool told_differs(int dir, enum channel channel, const struct active_files *told,
                  uint32_t highest);

/** \return true if `<channel>.log.gz` in the session's directory \p dir holds something,
 * and cannot be the active file number \p file, the one after the newest sealed one: its
 * writer has not begun that, or has told of nothing in it. It is of an earlier one, which
 * may be deleted. *failed: what was told cannot be read now. */
bool told_is_earlier(const struct sys *sys, int dir, const char *channel, uint32_t file,
                     bool *failed);

/** A numbered file beside the active one of its channel. */
struct told_beside {
    const struct sys *sys;
    int dir;
    const char *channel;
    uint32_t number;
    int active;             /**< its descriptor */
    int numbered;           /**< the same */
    bool gz;                /**< the numbered one is compressed */
    struct gz_cache *cache; /**< is told what that cost; NULL = nobody is */
};

/** \return true if the numbered file was made by another program, as by logrotate with
 * `copy`, and would be read twice: both are one file, or the active one begins with it,
 * and the writer \p told no higher number. That the active one was told to have that
 * number is not enough: it may have been cut since (`copytruncate`). Where nothing was
 * told, \p told is all zero. */
bool told_is_anothers(const struct told_beside *beside, const struct active_files *told);

/** Adds file \p number of \p channel in \p dir to \p unread, in each form that is
 * another program's. \return true if one is. */
bool told_note_beyond(const struct sys *sys, int dir, const char *channel,
                      uint32_t number, const struct active_files *told,
                      struct unread *unread);

#endif
