/* SPDX-License-Identifier: Apache-2.0 */
/* What the recorder of a session counted as lost, by its closing record. */
#ifndef GPUFL_CLI_TRANSFER_SESSION_LOSSES_H
#define GPUFL_CLI_TRANSFER_SESSION_LOSSES_H

#include "schema/losses.h"
#include "upload/source/scan.h"

/** Of the session in \p path beneath \p root; all 0 where no active file ends in such a
 * record, as while it runs. */
struct losses session_losses(int root, const char *path, const struct scan *scan);

#endif
