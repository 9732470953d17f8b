/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to give something up, left in the state directory for the uploader that serves
 * the root: `<journal>.resolve.<random>` holds `[group/]session[/channel]`. What
 * became of it is left there for a minute: `<journal>.answer.<random>`. */
#ifndef GPUFL_UPLOAD_RESOLVE_RESOLVE_REQUEST_H
#define GPUFL_UPLOAD_RESOLVE_RESOLVE_REQUEST_H

#include "upload/core/registry.h"
#include "upload/resolve/resolve_find.h"

/** Longest name of a request, NUL included. */
#define RESOLVE_REQUEST_NAME (STATE_NAME_MAX + 32)

/** Splits `[group/]session[/channel]` in place. \return the channel, NULL = none is
 * named; *path is NULL if the text is none. */
const char *resolve_split(char *text, const char **path);

/** Does what the requests for \p root say that our user or root has left. */
void resolve_take_requests(struct root *root);

/** Frees what is known of requests of which a part is done. */
void resolve_close(struct root *root);

/** Leaves a request about \p what beside the journal at \p place. \return GPUFL_OK with
 * its \p name, or GPUFL_ERR_IO with errno. */
GPUFL_MUST gpufl_status resolve_leave_request(const struct state_place *place,
                                              const char *what,
                                              char name[RESOLVE_REQUEST_NAME]);

/** Reads and removes what became of request \p name. \return false if nothing tells: the
 * uploader had no room for it. */
bool resolve_take_answer(const struct state_place *place, const char *name,
                         struct resolve_result *out);

#endif
