/* SPDX-License-Identifier: Apache-2.0 */
/* Gives up a session whose directory is not there, or cannot be looked at, or says which
 * one it goes on in. `channel` is NULL for the whole session: of one channel, none of it
 * can be said. */
#ifndef GPUFL_UPLOAD_RESOLVE_RESOLVE_AWAY_H
#define GPUFL_UPLOAD_RESOLVE_RESOLVE_AWAY_H

#include <stdbool.h>

#include "upload/core/registry.h"
#include "upload/resolve/resolve_find.h"

/** If \p session waits for one of its id whose directory is not there, a person says that
 * it is that one. \return true if that was all. */
bool resolve_away_moved(struct session *session, const char *channel,
                        struct resolve_result *out);

/** The directory of \p session is not there, or holds no file of a session: it goes on in
 * the one that waits for its id, or all that is known of it is forgotten. */
void resolve_away(struct session *session, const char *channel,
                  struct resolve_result *out);

/** If the session \p path is complete and cannot be looked at, nothing shows whether it
 * has grown. To a person, that is no matter: it is forgotten. \return true if that was
 * all. */
bool resolve_away_closed(struct root *root, const char *path, const char *channel,
                         struct resolve_result *out);

#endif
