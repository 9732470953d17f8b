/* SPDX-License-Identifier: Apache-2.0 */
/* Directories that have taken the place of the one of which something was sent: another
 * user's is not read, and a copy is not read while the noted one lies elsewhere. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_REPLACED_H
#define GPUFL_UPLOAD_LIFECYCLE_REPLACED_H

#include <stdbool.h>

#include "upload/core/session.h"

/** Compares \p seen, the directory of the session, with the one that was noted. It is
 * held if another user's is in its place; if another one of the same user's is, until a
 * listing has shown that the noted one is nowhere else in the root, unless its manifest
 * names another session, which is reason enough. \return true if that may go on. */
bool replaced_admit(struct session *session, const struct statx *seen,
                    bool names_another);

/** \return true if another user's directory is at \p path, of which something was sent.
 */
bool replaced_at(const struct root *root, const char *path);

/** A listing has come to \p path, which may be the directory that another session had. */
void replaced_visit(struct root *root, const char *path);

/** A listing has ended: \p whole if it named all there is. */
void replaced_listed(struct root *root, bool whole);

/** \return true if \p seen, in the place of a complete session, is another user's, which
 * is said; it stays complete. */
bool replaced_parked(struct root *root, struct parked_session *parked,
                     const struct statx *seen);

/** \return true if it is no failure of an upload that a directory of \p user (uid + 1)
 * has the place or the id of a complete session, of which nothing is missing. */
bool replaced_is_conceded(const struct root *root, uint32_t user);

#endif
