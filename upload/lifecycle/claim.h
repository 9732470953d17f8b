/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which of several directories of the same name is the session: the backend knows
 * only that name. Another user could end or forge a session otherwise, and a copy that
 * somebody makes would end a running one. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_CLAIM_H
#define GPUFL_UPLOAD_LIFECYCLE_CLAIM_H

#include <stdbool.h>

#include "upload/core/session.h"
#include "upload/source/liveness.h"

/** Call it at each look at a session, with what was found.
 *  \return true if the session may be read. If another directory has its id, the session
 * is held, which is logged; during the first listing of a root it may only wait: if its
 * id is bound to its user, until those of that user were listed, and not at all while it
 * is locked; else for the end of the listing. */
bool claim_check(struct session *session, const struct scan *scan, enum liveness writer);

/** Notes a session that was found and waits for its turn: if another one is known that
 * has its id, that one. */
void claim_note(struct root *root, const char *path);

/** Notes the sessions that the journal knows. */
void claim_replayed(struct root *root);

/** \return true once each root that is there was listed: all that could have an id were
 * seen. */
bool claim_is_listed(const struct engine *engine);

/** A round of the first listing of the root has ended: sessions that waited for that are
 * looked at, as those of some owners have all been seen. */
void claim_served(const struct root *root);

/** A listing of the root has ended: sessions that waited for that are looked at. */
void claim_listed(struct root *root);

#endif
