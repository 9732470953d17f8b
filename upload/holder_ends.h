/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the backend, which is in another epoch, still has what another uploader tells:
 * each of its starts is one, and that uploader may not have noticed. */
#ifndef GPUFL_UPLOAD_HOLDER_ENDS_H
#define GPUFL_UPLOAD_HOLDER_ENDS_H

#include "upload/holder_origin.h"
#include "upload/holder_targets.h"

/** Asks, until the deadline of \p u, for the ends of the sessions that are doubted, one
 * request for each, and doubts those no more of which it has all. \p origin has been
 * asked. */
void holder_ends_ask(const struct upload *u, const struct holder_origin *origin,
                     struct holder_targets *targets);

#endif
