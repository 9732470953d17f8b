/* SPDX-License-Identifier: Apache-2.0 */
/* Tells others how far a root is, in the files of core/progress_file.h. */
#ifndef GPUFL_UPLOAD_ENGINE_PROGRESS_H
#define GPUFL_UPLOAD_ENGINE_PROGRESS_H

#include "upload/core/registry.h"

/** Writes the files when something was settled and its record is on disk; at most once a
 *  second. */
void progress_publish(struct root *root, uint64_t now_ms);

/** Takes positions for streams that the journal does not know. */
void progress_import(struct root *root);

#endif
