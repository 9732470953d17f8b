/* SPDX-License-Identifier: Apache-2.0 */
/* Complete sessions of this user that it cannot look at any more. */
#ifndef GPUFL_UPLOAD_ENGINE_CLOSED_OWN_H
#define GPUFL_UPLOAD_ENGINE_CLOSED_OWN_H

#include "upload/engine/engine_report.h"

/** Counts complete sessions that were this user's and lie in a group that others have
 * closed as kept back: nothing shows whether they have grown. A group that was made since
 * is another one, as far as the journal tells. Looks at each complete session that was
 * this user's: for the end of a run. */
void closed_own_count(const struct engine *engine, struct engine_summary *out);

#endif
