/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions whose directory is not there. That is no evidence that it was deleted: a mount
 * may be missing. Everything that is known of them is kept, in memory and in the journal,
 * until they are back or have been missed for many days. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_AWAY_H
#define GPUFL_UPLOAD_LIFECYCLE_AWAY_H

#include "upload/core/session.h"

/** The listing that has just ended was whole: what it did not name is away. */
void away_after_listing(struct root *root);

/** The directory of \p session is there again. */
void away_session_back(struct session *session);

/** The directory of a parked session is there. */
void away_parked_seen(struct root *root, struct parked_session *parked);

/** Forgets a session that goes on elsewhere. \return as below. */
bool away_hand_over(struct session *session);

/** Forgets a session whose directory is not there, because a person says so. \return
 * false if something refers to it still, or the journal is broken. */
bool away_give_up(struct session *session);

#endif
