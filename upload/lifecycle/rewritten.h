/* SPDX-License-Identifier: Apache-2.0 */
/* Files that were emptied and written again to the size that they had: nothing seems to
 * be left to read. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_REWRITTEN_H
#define GPUFL_UPLOAD_LIFECYCLE_REWRITTEN_H

#include "upload/core/session.h"

/** \return true if other bytes than those that were sent stand before the position: a
 * read of the stream tells what follows. Only compared if \p seen has changed since. */
bool rewritten_since(struct stream *stream, const struct scan_channel *seen);

/** The same of any stream of the session, whatever was seen; the next inspection has it
 * read again, or holds it. */
bool rewritten_session(struct session *session);

#endif
