/* SPDX-License-Identifier: Apache-2.0 */
/* Publishes how far a root is, in the files that published/progress_file.h describes. */
#ifndef GPUFL_UPLOAD_ENGINE_PROGRESS_H
#define GPUFL_UPLOAD_ENGINE_PROGRESS_H

#include "upload/core/registry.h"
#include "upload/published/progress_file.h"

/** Writes the files if something was settled and its record is on disk, at most once per
 * second. */
void progress_publish(struct root *root, uint64_t now_ms);

/** What the first line of the files says of this uploader. */
struct progress_writer progress_writer_here(const struct root *root);

#endif
