/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the progress files back when the journal was lost or damaged. */
#ifndef GPUFL_UPLOAD_ENGINE_PROGRESS_IMPORT_H
#define GPUFL_UPLOAD_ENGINE_PROGRESS_IMPORT_H

#include "upload/core/registry.h"

/** Takes from the files what they know better than the journal: positions, and what was
 * not delivered before these. */
void progress_import(struct root *root);

#endif
