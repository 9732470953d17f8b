/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions whose directory was renamed within its root: what is known of one goes on at
 * the new path. A rename keeps the directory, by which it is known again on the same
 * boot; its files are known by their marks, as always. A copy is another directory. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_MOVED_H
#define GPUFL_UPLOAD_LIFECYCLE_MOVED_H

#include "upload/core/session.h"

/** Notes that the session has the directory \p seen, in memory and, once something of the
 * session was sent, in the journal. Call it once that was admitted. */
void moved_note(struct session *session, struct directory_id seen);

/** If the directory that was seen of \p session, of which nothing was sent, is the one
 * that was known at \p from below its root, the session takes over what is known of that
 * one, which may be that it is complete. \return whether it has. */
bool moved_follow(struct session *session, const char *from);

/** \return true if the directory that was seen of \p session is the one that was known at
 * \p from below \p root, and is there no more. */
bool moved_is_it(const struct session *session, const struct root *root,
                 const char *from);

/** \return true if the directory of \p session, which is away, is at another path, below
 * any root, and what is known there is all that is known of \p session. */
bool moved_is_left_over(const struct session *session);

enum moved_other {
    MOVED_OTHER_GONE,  /**< the directory of the other session is not there */
    MOVED_OTHER_THERE, /**< it is, and is another one */
    MOVED_ITSELF,      /**< the directory of \p session is that of the other one */
};

/** \return true if the owner of the directory of \p session has a session \p id: one that
 * is there, or of which something was sent. */
bool moved_other_is_known(const struct session *session, const char *id);

/** Looks for the directory of the session \p id, which the manifest of \p session names.
 */
enum moved_other moved_other(const struct session *session, const char *id);

/** Applies what a journal says of the directory of a session. */
void moved_replay(struct root *root, const struct record_directory *record);

#endif
