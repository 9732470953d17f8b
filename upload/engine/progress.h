/* SPDX-License-Identifier: Apache-2.0 */
/* Publishes how far a root is, in the files that published/progress_file.h describes. */
#ifndef GPUFL_UPLOAD_ENGINE_PROGRESS_H
#define GPUFL_UPLOAD_ENGINE_PROGRESS_H

#include "upload/core/registry.h"

/** Writes the files if something was settled and its record is on disk, at most once per
 * second; not while progress_others_are_first(). */
void progress_publish(struct root *root, uint64_t now_ms);

/** Likewise, at once, before the root is closed: what the journal lacks on disk is
 * written first. A root whose path names another directory now may come back, to another
 * uploader.
 */
void progress_publish_last(struct root *root);

#endif
