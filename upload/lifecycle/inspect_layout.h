/* SPDX-License-Identifier: Apache-2.0 */
/* What an inspection says about a session as a whole. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_INSPECT_LAYOUT_H
#define GPUFL_UPLOAD_LIFECYCLE_INSPECT_LAYOUT_H

#include "upload/core/session.h"

/** Holds the session, without a word, while a directory that is listed later may tell
 * whose files they are. \return whether it does. */
bool inspect_layout_waits(struct session *session, const struct scan *scan);

/** Chooses the layout, and holds the session if that is not certain. Names the files that
 * are not read. */
void inspect_layout_apply(struct session *session, const struct scan *scan);

/** Takes a session of windows of which nothing was sent for complete if a mark in its
 * directory says so to this backend. \return true if nothing more is to be done with it
 * now: that may wait for the backend's answer. */
bool inspect_layout_is_marked(struct session *session, const struct scan *scan,
                              uint64_t now_ms);

#endif
