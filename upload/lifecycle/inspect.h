/* SPDX-License-Identifier: Apache-2.0 */
/* An inspection of a session's directory, and what follows from what it finds. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_INSPECT_H
#define GPUFL_UPLOAD_LIFECYCLE_INSPECT_H

#include "upload/core/session.h"
#include "upload/source/liveness.h"
#include "upload/source/scan.h"

/** What one inspection of a directory found. */
struct inspection {
    enum liveness writer;
    struct scan scan;
    uint64_t second[CHANNEL_COUNT]; /**< as in struct session */
    struct statx directory;         /**< the one that was looked into */
    bool whole;       /**< not only what changes while a known writer lives */
    uint32_t owner;   /**< of the directory, if whole */
    uint64_t changed; /**< when the directory had changed, before that; 0 = not known */
};

/** Inspects the session's directory and applies what is there. */
void inspect_session(struct session *session, uint64_t now_ms);

/** \return true if \p path is a session whose lock nobody holds: its writer is gone. */
bool inspect_is_over(const struct root *root, const char *path);

/** \return true if \p path is a session whose writer was just seen to hold its lock. */
bool inspect_is_locked(const struct root *root, const char *path);

/** Probes the lock, then scans the directory: in that order, the scan shows everything
 * that a writer found gone has written. \p live NULL, or the live session of which only
 * what changes is looked for while its directory is the one that was noted. \return
 * GPUFL_OK, GPUFL_ERR_NOT_FOUND if there is no session, GPUFL_ERR_USAGE if another user
 * owns it, GPUFL_ERR_IO. */
gpufl_status inspect_directory(const struct root *root, const char *path,
                               const struct session *live, struct inspection *out);

/** Holds a session whose directory cannot be read: \p why. */
void inspect_failed(struct session *session, gpufl_status why);

/** Applies what an inspection found. */
void inspect_apply(struct session *session, const struct inspection *seen,
                   uint64_t now_ms);

#endif
