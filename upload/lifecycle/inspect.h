/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from what an inspection of a session's directory finds. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_INSPECT_H
#define GPUFL_UPLOAD_LIFECYCLE_INSPECT_H

#include "upload/core/session.h"
#include "upload/lifecycle/inspect_directory.h"

/** Inspects the session's directory, however many names it has, and applies what is
 * there. */
void inspect_session(struct session *session, uint64_t now_ms);

/** Inspects those whose turn it is, some VISITS_STEP_NAMES in all. One that has more
 * names takes another turn for the rest. */
void inspect_turns(struct engine *engine, uint64_t now_ms);

/** An inspection has \p seen VISITS_STEP_NAMES, and that the session's directory has
 * more; \p known: the session was known before. The other steps follow in its turns. */
void inspect_many(struct session *session, bool known, const struct inspection *seen);

/** \return true if all steps have shown no session in its directory, and nothing has come
 * or gone there since. */
bool inspect_is_none(const struct session *session);

/** Gives up an inspection in steps. */
void inspect_stop(struct session *session);

/** Holds a session whose directory cannot be read: \p why. */
void inspect_failed(struct session *session, gpufl_status why);

/** Applies what an inspection found. */
void inspect_apply(struct session *session, const struct inspection *seen,
                   uint64_t now_ms);

#endif
