/* SPDX-License-Identifier: Apache-2.0 */
/* An inspection of a session's directory, at once or in steps. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_INSPECT_DIRECTORY_H
#define GPUFL_UPLOAD_LIFECYCLE_INSPECT_DIRECTORY_H

#include "upload/core/session.h"
#include "upload/source/liveness.h"
#include "upload/source/scan_session.h"

/** So many names cost as much as a directory that is looked into. */
#define INSPECTION_NAMES 128u

/** What one inspection of a directory found. */
struct inspection {
    enum liveness writer;
    struct scan scan;
    struct second_known second[CHANNEL_COUNT]; /**< as in struct session */
    struct statx directory;                    /**< the one that was looked into */
    bool whole;         /**< not only what changes while a known writer lives */
    bool shows_session; /**< its names so far do */
    uint32_t owner;     /**< of the directory, if whole */
    uint64_t changed;   /**< when the directory had changed, before that; 0 = not known */
    unsigned names;     /**< that were listed; comparing files costs as much */
};

/** One that is under way. */
struct inspect_look {
    int dir;
    struct inspection seen;
    struct scanning scanning;
    struct scan_second second; /**< once the scan has ended */
    bool scanned;
    uint64_t
        compared; /**< bytes of compressed files and of what these may be copies of */
};

/** \return true if \p path is a session whose lock nobody holds: its writer is gone. */
bool inspect_is_over(const struct root *root, const char *path);

/** \return true if \p path is a session whose writer was just seen to hold its lock. */
bool inspect_is_locked(const struct root *root, const char *path);

/** Probes the lock, then scans the directory: in that order, the scan shows everything
 * that a writer found gone has written. \p live NULL, or the live session of which only
 * what changes is looked for while its directory is the one that was noted. \return
 * GPUFL_OK, GPUFL_ERR_NOT_FOUND if there is no session, GPUFL_ERR_USAGE if another user
 * owns it, GPUFL_ERR_IO, GPUFL_BUSY if it has more than \p most names, or more is to be
 * compared than in one step. */
gpufl_status inspect_directory(const struct root *root, const char *path,
                               const struct session *live, unsigned most,
                               struct inspection *out);

/** Begins the same in steps, which scan_some takes. \return GPUFL_OK, or as
 * inspect_directory: then it is over. */
gpufl_status inspect_begin(const struct root *root, const char *path,
                           const struct session *live, struct inspect_look *look);

/** Ends one that has no names left. \p id is the session's. At most \p budget bytes of
 * its compressed files are compared. \return as inspect_directory; GPUFL_BUSY if there is
 * more to be compared: it is called again. */
gpufl_status inspect_end(const struct root *root, const char *id,
                         struct inspect_look *look, int64_t budget);

/** \return how many names it has listed, and a step's number of them for each step of
 * comparing. */
unsigned inspect_cost(const struct inspect_look *look);

/** Gives one up that has more. */
void inspect_close(struct inspect_look *look);

#endif
