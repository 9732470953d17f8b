/* SPDX-License-Identifier: Apache-2.0 */
/* What stands in the way of sessions, in the progress file. */
#ifndef GPUFL_UPLOAD_ENGINE_PROGRESS_TROUBLE_H
#define GPUFL_UPLOAD_ENGINE_PROGRESS_TROUBLE_H

#include "base/text.h"
#include "upload/core/registry.h"

/** Appends the lines that begin with `!` and stand before those of streams, see
 * progress_file.h. */
void progress_trouble_add(struct text *text, struct root *root);

#endif
