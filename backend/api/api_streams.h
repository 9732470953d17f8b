/* SPDX-License-Identifier: Apache-2.0 */
/* GET {api}/sessions/{session_id}/streams. */
#ifndef GPUFL_BACKEND_API_API_STREAMS_H
#define GPUFL_BACKEND_API_API_STREAMS_H

#include "backend/store/store_streams.h"
#include "base/text.h"

/** Renders an end as a JSON object. */
void api_streams_end(struct text *answer, const struct stored_end *end);

/** Renders the epoch, the session's state and the ends of its streams, as members of an
 * object. */
GPUFL_MUST gpufl_status api_streams_members(struct store *store, const char *session,
                                            struct text *answer);

/** All of it. \return the HTTP status. */
int api_streams(struct store *store, const char *session, struct text *answer);

/** The place of a line's end in one file. \return the HTTP status. */
int api_streams_place(struct store *store, const char *session,
                      const struct stream_place *asked, const char *channel,
                      struct text *answer);

#endif
