/* SPDX-License-Identifier: Apache-2.0 */
/* Takes back what a root has settled, so that all of it is sent again. */
#ifndef GPUFL_UPLOAD_ENGINE_REWIND_H
#define GPUFL_UPLOAD_ENGINE_REWIND_H

#include "upload/core/registry.h"

/** For `force`: everything is read and sent again. What a backend that knows positions
 * was told to be lost or refused is final, and stays known. \return as journal_rewrite.
 */
GPUFL_MUST gpufl_status rewind_root(struct root *root);

#endif
