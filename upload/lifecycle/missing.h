/* SPDX-License-Identifier: Apache-2.0 */
/* Channels of a session of which a file should be there and is not. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_MISSING_H
#define GPUFL_UPLOAD_LIFECYCLE_MISSING_H

#include "upload/core/held.h"
#include "upload/core/stream.h"

/** \return why what is read may not be all, or HELD_NOT. Its writer is gone, and the
 * active file is not what it left: another program has replaced it, and what was written
 * afterwards went into a file without a name. In a file that ends in the shutdown, the
 * writer had looked for that. Or the directory is a copy, and its writer wrote on in
 * another one, unless all is there up to the shutdown. */
enum held_reason missing_end(const struct stream *stream);

/** \return as missing_end(), if a person says that the writer of a copy is gone. */
enum held_reason missing_end_said(const struct stream *stream);

/** Holds each channel of which \p scan does not show what was sent of it, or what its
 * manifest lists. */
void missing_channels(struct session *session, const struct scan *scan);

/** Takes the writer of \p session for gone, by what its files show, and asks again: it
 * should have left more than one that may live. */
void missing_ended(struct session *session, const struct scan *scan);

#endif
