/* SPDX-License-Identifier: Apache-2.0 */
/* Files that were given up and are there again. They are not sent: their place in the
 * order is passed. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_RETURNED_H
#define GPUFL_UPLOAD_LIFECYCLE_RETURNED_H

#include "upload/core/session.h"

/** Notes that files \p first to \p last of the stream were given up. What can be read of
 * them now was seen by whoever did that. */
void returned_give_up(const struct stream *stream, uint32_t first, uint32_t last);

/** Says which given-up files of a session can be read again, each once. */
void returned_session(const struct session *session);

/** \return true if files of a parked session were given up and are not back. */
bool returned_may_come(const struct root *root, const struct parked_session *session);

/** As returned_session(); \p dir is its directory. */
void returned_parked(struct root *root, int dir, const struct parked_session *session);

#endif
