/* SPDX-License-Identifier: Apache-2.0 */
/* What no uploader can send of a directory that another one serves. */
#ifndef GPUFL_UPLOAD_HOLDER_LEFT_H
#define GPUFL_UPLOAD_HOLDER_LEFT_H

#include "upload/engine/engine_report.h"
#include "upload/source/select.h"

/** Counts in \p out, and names one of them, the sessions that the progress of \p root
 * knows as not complete and whose directory is not there, nor in \p selection, which is
 * of all. Their uploader may not have noticed that yet. */
void holder_left_count(const struct sys *sys, int root, const struct selection *selection,
                       struct engine_summary *out);

#endif
