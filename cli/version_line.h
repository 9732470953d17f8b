/* SPDX-License-Identifier: Apache-2.0 */
/* What `gpufl version` and each verb's --version print. */
#ifndef GPUFL_CLI_VERSION_LINE_H
#define GPUFL_CLI_VERSION_LINE_H

#include "schema/protocol.h"

#define VERSION_LINE "gpufl " GPUFL_VERSION " (wire v" PROTOCOL_WIRE_VERSION ")"

#endif
