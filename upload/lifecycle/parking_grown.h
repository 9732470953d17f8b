/* SPDX-License-Identifier: Apache-2.0 */
/* When a complete session becomes an open one again. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_PARKING_GROWN_H
#define GPUFL_UPLOAD_LIFECYCLE_PARKING_GROWN_H

#include "upload/core/session.h"

/** Opens a complete session again if its files have grown since, and says so in the
 * journal; or if the backend may have lost some of it. \return false if neither is so, or
 * if it must wait. */
bool parking_reopen_grown(struct root *root, struct parked_session *session);

/** \return true if the listing that begins leaves the look at complete sessions to the
 * next one: a service reads no new session before it has listed the root once, and that
 * does not wait for a look at very many. */
bool parking_look_waits(const struct root *root);

/** A listing begins. */
void parking_begin_listing(struct root *root, uint64_t now_ms);

/** A listing has ended. */
void parking_end_listing(struct root *root, uint64_t now_ms);

/** Opens some complete sessions again, and looks at those that are open, if the backend
 * says that it may have lost some of them. To be called at each turn. */
void parking_ask_again(struct root *root);

/** \return true while that may go on. */
bool parking_is_to_be_asked(const struct root *root);

#endif
