/* SPDX-License-Identifier: Apache-2.0 */
/* When a session is parked, and when it becomes an open one again. */
#ifndef GPUFL_UPLOAD_ENGINE_PARKING_H
#define GPUFL_UPLOAD_ENGINE_PARKING_H

#include <stdbool.h>

#include "upload/core/session.h"

/** Puts a complete session, to which nothing refers any more, in its place and frees it.
 * Without memory it stays as it is. */
void parking_complete(struct session *session);

/** Makes a session of it again, an open one. \return NULL without memory; it stays. */
struct session *parking_open(struct root *root, struct parked_session *parked);

/** Opens and marks some of those that wait, if the backend could take more. \return true
 * when there were any. */
bool parking_open_some(struct engine *engine);

/** True when one waits that could be opened now. */
bool parking_waits(const struct root *root);

/** The listing under way names it. */
void parking_seen(struct root *root, struct parked_session *parked);

/** Forgets those that the listing that is over did not name. */
void parking_forget_absent(struct root *root);

/** Opens the complete ones that are wanted: all is sent again. */
void parking_open_complete(struct root *root);

/** Appends the complete ones to the journal. */
void parking_write_state(struct root *root);

#endif
