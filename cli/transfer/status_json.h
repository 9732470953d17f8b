/* SPDX-License-Identifier: Apache-2.0 */
/* `gpufl status --json`. */
#ifndef GPUFL_CLI_TRANSFER_STATUS_JSON_H
#define GPUFL_CLI_TRANSFER_STATUS_JSON_H

#include "cli/transfer/status_view.h"

/** One JSON object on one line. */
extern const struct status_view status_json;

#endif
