/* SPDX-License-Identifier: Apache-2.0 */
/* When a session is parked, and when it becomes an open one again. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_PARKING_H
#define GPUFL_UPLOAD_LIFECYCLE_PARKING_H

#include <stdbool.h>

#include "upload/core/session.h"

/** Parks a complete session that nothing refers to any more, and frees it. Without memory
 * it stays as it is. */
void parking_complete(struct session *session);

/** Parks a session that is held, of which nothing was sent and to which nothing refers,
 * and frees it, unless few sessions are open or there is no memory. */
void parking_held(struct session *session);

/** \return true if a parked session that is held is to be looked at: its directory has
 * changed, or it is time for that. */
bool parking_held_is_due(const struct root *root, struct parked_session *session);

/** Notes in the journal which directory the session is in, if that is known. \return
 * false if that could not be written. */
bool parking_append_directory(const struct root *root,
                              const struct parked_session *session);

/** As parking_open(); a complete session is an open one in the journal first. \return
 * NULL without memory, or if the journal cannot be written now. */
struct session *parking_open_again(struct root *root, struct parked_session *parked);

/** Turns a parked session into an open one again. \return NULL without memory; it stays
 * parked. */
struct session *parking_open(struct root *root, struct parked_session *parked);

/** Opens and marks waiting sessions: some if the backend could take more, and of each
 * owner of whom few had their turn and are on their way. \return true if there may be
 * more of the former. */
bool parking_open_some(struct engine *engine);

/** \return true if an owner is known of whom one would be opened now. */
bool parking_goes_on(const struct root *root);

/** After an inspection: another session of its owner may be opened if it would not be
 * sent for now. */
void parking_end_turn(struct session *session, uint64_t now_ms);

/** \return true if the session \p id at \p path has ended, and those that are open give
 * enough to send for now. */
bool parking_can_wait(const struct root *root, const char *path, const char *id);

/** \return true if a session waits that could be opened now. */
bool parking_waits(const struct root *root);

/** Forgets a complete session. \return false if the journal cannot be written now. */
bool parking_forget(struct root *root, struct parked_session *session);

/** Opens the complete sessions that are wanted, to send everything again. */
void parking_open_complete(struct root *root);

/** Opens all complete sessions, wanted or not, as nothing of them is anywhere yet; those
 * whose directory is away are forgotten. */
void parking_open_all(struct root *root);

/** Appends the complete sessions to the journal. */
void parking_write_state(struct root *root);

#endif
