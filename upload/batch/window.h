/* SPDX-License-Identifier: Apache-2.0 */
/* Sealed windows of the 1.3 client: offered as they lie on disk. */
#ifndef GPUFL_UPLOAD_BATCH_WINDOW_H
#define GPUFL_UPLOAD_BATCH_WINDOW_H

#include "upload/core/offer.h"

/** Offers the window at the stream's position, if there is one. */
enum made window_make(struct stream *stream);

/** \return what is wrong with that window of \p stream, or with its sidecar. */
enum held_reason window_problem(const struct stream *stream, uint32_t file);

/** \return true if that window of \p stream is there, with a valid sidecar, or is only
 * closed to this user. */
bool window_is_whole(const void *stream, uint32_t file);

/** Opens the offer's window again. \return GPUFL_OK if it matches its sidecar. */
gpufl_status window_open(struct stream *stream, struct offer *offer);

/** Gives an offer in whose place the backend has other content the window's own id. The
 * caller puts it into the journal. \return false if it has that id already, or if other
 * bytes may have been sent under its id, and these be stored. */
bool window_rename(struct offer *offer);

#endif
