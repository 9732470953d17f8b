/* SPDX-License-Identifier: Apache-2.0 */
/* The claim of a session: where each of its streams ends, for the backend to compare. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_END_CLAIM_H
#define GPUFL_UPLOAD_LIFECYCLE_END_CLAIM_H

#include <stdbool.h>

#include "upload/core/session.h"

/** Compares at most a batch's size. \return true if all is as it was sent. Otherwise more
 * is to be compared, or the session is open again: a file that was rewritten where it had
 * been read is not what the backend has. */
bool end_claim_is_proved(struct session *session);

/** \return the claim, which the caller frees; NULL if no stream goes by positions, or
 * without memory: then the word alone is refused. */
char *end_claim_write(const struct session *session);

/** The backend refused the claim, as it would change a session that was complete from the
 * directory of \p owner (uid plus one, 0 = that was not the reason). \return true if it
 * is to be claimed once more, saying that it may: this is that user's, or a person said
 * so. */
bool end_claim_may_reopen(struct session *session, uint32_t owner);

/** The claim was taken, and so has proved the ends in its epoch. A backend that has gone
 * back since knows nothing of it. */
void end_claim_note_epoch(struct session *session);

/** What was compared does not count for the next claim, which may be made much later. */
void end_claim_forget(struct session *session);

#endif
