/* SPDX-License-Identifier: Apache-2.0 */
/* A position in a channel: which file of which session, and how far into it. */
#ifndef GPUFL_UPLOAD_SOURCE_TAIL_WHERE_H
#define GPUFL_UPLOAD_SOURCE_TAIL_WHERE_H

#include <stdbool.h>
#include <stdint.h>

#include "upload/source/directory_mark.h"
#include "upload/source/file_mark.h"
#include "upload/source/gz_cache.h"
#include "upload/source/scan.h"
#include "upload/source/second_form.h"

/** Where to read. */
struct tail_where {
    int root;                             /**< the watched root's descriptor */
    const char *path;                     /**< the session's directory beneath it */
    const struct directory_id *directory; /**< which that must be; NULL = any may be */
    const char *channel;
    enum session_layout layout;
    bool sealed_only; /**< a later file exists: this one cannot be the active one */
    uint32_t file;    /**< number of the file: sealed, or the active one */
    uint64_t offset;  /**< uncompressed bytes into it */
    struct record_mark mark; /**< of the bytes before mark_at; unknown = none is needed */
    uint64_t mark_at;        /**< offset, or later */
    struct file_known *known; /**< the file that was found last, which needs no mark; NULL
                                 = none. It is updated */
    struct second_known *second; /**< live: what the compressed active file was found to
                                    be; NULL = nothing is known */
    uint64_t *damaged; /**< the stamp of a compressed file that has no whole line at the
                          position, and of that: it is not decoded again; NULL = it is */
    bool any_number;   /**< live: whichever file is active is this one */
    bool tells_holes;  /**< a hole is told instead of being read: see tail_chunk */
    bool silent; /**< live: a writer that cannot be probed has added nothing for long */
    /* Of the shifting layout: */
    uint64_t head;  /**< which identifies the file, see shifting.h */
    uint32_t index; /**< its number when it was last seen, 0 = active */
    const struct record_sealed *before; /**< where the file before it ended, which may
                                           have the same head; NULL = nothing is known */
    struct gz_cache
        *cache; /**< NULL = none: each read starts at the beginning of a gzip file */
};

/** Opens the file \p name of the session's directory. \return the descriptor, or -1 with
 * errno: ESTALE if the directory is another one than it must be. */
int tail_where_open(const struct sys *sys, const struct tail_where *where,
                    const char *name);

/** Opens file \p number of the channel, 0 = the active one, in either form: the plain one
 * first, as it goes only once its compressed copy is whole. \return the descriptor, or -1
 * with errno: ENOENT if neither is there. */
int tail_where_open_either(const struct sys *sys, const struct tail_where *where,
                           uint32_t number, bool *gz);

/** The same of where->file, unless \p active, which has the name of the active file, is
 * told to be that number: what has it then is another program's. \p active -1 = none. */
int tail_where_open_sealed(const struct sys *sys, const struct tail_where *where,
                           int active, bool *gz);

/** A file of a channel that cannot be read. */
struct tail_unreadable {
    uint32_t file; /**< its number, 0 = the active one */
    uint8_t error; /**< errno; 0 = there is none; ELOOP = it is not a regular file */
    bool gz : 1;
    bool sidecar : 1; /**< it is the sidecar of that window */
};

/** \return true if nothing but its mode, or its owner, is in the way. */
bool tail_unreadable_is_closed(const struct tail_unreadable *file);

/** \return true if it is no regular file and has the number of the active one, which is
 * beyond \p highest. */
bool tail_unreadable_is_in_the_way(const struct tail_unreadable *file, uint32_t highest);

/** Its name and the reason, for people: " (device.1.log: Permission denied)", or "". */
void tail_unreadable_text(const struct tail_unreadable *file, const char *channel,
                          char *out, size_t size);

/** Looks among the file of the position, the active one and the one before, of the
 * shifting layout among all up to number \p highest, for one that cannot be opened, or
 * not read at its begin, or at the position. */
struct tail_unreadable tail_where_unreadable(const struct sys *sys,
                                             const struct tail_where *where,
                                             uint32_t highest);

/** Opens the compressed form of sealed file where->file. \return as
 * tail_where_open_either.
 */
int tail_where_open_packed(const struct sys *sys, const struct tail_where *where);

/** Whether \p gz, the compressed form of sealed file where->file, begins with all of
 * \p plain, the other form of it, and goes on: one of the two was cut off. \return
 * GPUFL_OK if so; GPUFL_ERR_NOT_FOUND; GPUFL_BUSY; GPUFL_ERR_IO. */
GPUFL_MUST gpufl_status tail_where_goes_on(const struct sys *sys,
                                           const struct tail_where *where, int plain,
                                           int gz);

/** Whether \p fd, a compressed active file, is one that another tool left of a file that
 * was restored and sealed since. \return 0 if it is the active file; ENOENT if it is left
 * over; EIO. */
int tail_where_left_over(const struct sys *sys, const struct tail_where *where, int fd);

/** Opens the directory once for several files: *in is \p where beneath it. \return the
 * descriptor, which the caller closes, or -1 with errno, as above. */
int tail_where_enter(const struct sys *sys, const struct tail_where *where,
                     struct tail_where *in);

/** \return true if sealed file `where->file` of a live channel ends at `where->offset`
 * and its writer has begun the next one: from then on it does not take the seal back, nor
 * write on in it. */
bool tail_where_has_next(const struct sys *sys, const struct tail_where *where);

/** \return true if its writer tells, in a loss marker, that lines of file `where->file`
 * are lost. */
bool tail_where_tells_loss(const struct sys *sys, const struct tail_where *where);

/** \return what stands for the file as it is now and the position; not 0. */
uint64_t tail_where_stamp(const struct tail_where *where, int fd);

/** Compares the bytes of \p fd before where->mark_at with where->mark. */
enum file_match tail_where_match(const struct sys *sys, const struct tail_where *where,
                                 int fd, bool packed);

/** Compares the number of \p fd, an active file in the directory where->root, with that
 * of the position: if its writer told that it is a later one, the file of the position
 * was sealed, and deleted. */
enum file_match tail_where_told(const struct sys *sys, const struct tail_where *where,
                                int fd);

/** \return true if the writer has written nothing of the channel behind the position, as
 * its lock file says. False if that says nothing of this boot, or may be of others. */
bool tail_where_reaches_told(const struct sys *sys, const struct tail_where *where);

#endif
