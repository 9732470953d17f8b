/* SPDX-License-Identifier: Apache-2.0 */
/* `.uploaded` in the directory of a complete session. The existing tools look only
 * whether it is there, and leave an empty one. Ours has one line, by which a later
 * uploader without our journal knows which backend has the session:
 *
 *     gpufl-uploaded 1 origin=<hash of the URL> database=<hash of its name, 0 = none>
 *
 * It does not name the key: who can read a hash of a key can try keys.
 */
#ifndef GPUFL_UPLOAD_PUBLISHED_UPLOADED_MARK_H
#define GPUFL_UPLOAD_PUBLISHED_UPLOADED_MARK_H

#include "base/sys.h"
#include "upload/published/progress_file.h"

/** What a mark says to the backend of the settings. */
enum uploaded_mark {
    UPLOADED_BY_ANOTHER, /**< another program left it, or an earlier version of ours */
    UPLOADED_HERE,
    UPLOADED_ELSEWHERE, /**< to another backend, or another database */
    UPLOADED_UNTOLD,    /**< to this one, if it still has the same database */
};

/** Reads the mark of the session \p path. */
enum uploaded_mark uploaded_mark_read(const struct sys *sys, int root_fd,
                                      const char *path,
                                      const struct progress_origin *here);

/** Tells the existing agent to leave the session alone, should it be used again. Nothing
 * happens in a directory that we may only read; a mark of another backend is replaced. */
void uploaded_mark_leave(const struct sys *sys, int root_fd, const char *path,
                         const struct progress_origin *here);

#endif
