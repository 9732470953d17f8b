/* SPDX-License-Identifier: Apache-2.0 */
/* What requests for the sessions of one owner say of the origin, and of that owner. */
#ifndef GPUFL_UPLOAD_CORE_OWNER_STANDING_H
#define GPUFL_UPLOAD_CORE_OWNER_STANDING_H

#include <stdbool.h>
#include <stdint.h>

#include "upload/core/session.h"

/** Notes an answer as expected, as origin_ok(). */
void owner_ok(const struct session *session);

/** Notes one after which a request is made again. \return true if that says nothing of
 * the origin: see standing_failed(). */
bool owner_failed(const struct session *session, uint64_t now_ms);

/** \return true if a request for \p session may go out now. One of an owner of whom
 * nothing has failed since the last success also may in the pause after failures: it
 * shows whether they were those of others alone. */
bool owner_may_go(const struct session *session, uint64_t now_ms);

#endif
