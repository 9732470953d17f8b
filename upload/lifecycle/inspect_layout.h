/* SPDX-License-Identifier: Apache-2.0 */
/* What an inspection says about a session as a whole. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_INSPECT_LAYOUT_H
#define GPUFL_UPLOAD_LIFECYCLE_INSPECT_LAYOUT_H

#include "upload/core/session.h"

/** Chooses the layout, and holds the session if that is not certain. Names the files that
 * are not read. */
void inspect_layout_apply(struct session *session, const struct scan *scan);

#endif
