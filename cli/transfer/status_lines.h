/* SPDX-License-Identifier: Apache-2.0 */
/* `gpufl status` for people. */
#ifndef GPUFL_CLI_TRANSFER_STATUS_LINES_H
#define GPUFL_CLI_TRANSFER_STATUS_LINES_H

#include "cli/transfer/status_view.h"

extern const struct status_view status_lines;

#endif
