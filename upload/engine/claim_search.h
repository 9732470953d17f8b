/* SPDX-License-Identifier: Apache-2.0 */
/* Where another user has made very many directories, the first listing of a root takes
 * long, and a session that may be of anybody waits for its end: one of those may claim
 * its id. Whether any has that name is known much earlier. */
#ifndef GPUFL_UPLOAD_ENGINE_CLAIM_SEARCH_H
#define GPUFL_UPLOAD_ENGINE_CLAIM_SEARCH_H

#include "upload/core/engine_state.h"

/** Looks for the ids that wait, in a limited number of directories. A session whose id is
 * found nowhere else waits no longer. */
void claim_search_step(struct engine *engine);

/** Ends a search that is under way. */
void claim_search_end(struct claim_search *search);

#endif
