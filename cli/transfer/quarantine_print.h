/* SPDX-License-Identifier: Apache-2.0 */
/* How `gpufl quarantine` and `gpufl status` show a range that was refused for good. */
#ifndef GPUFL_CLI_TRANSFER_QUARANTINE_PRINT_H
#define GPUFL_CLI_TRANSFER_QUARANTINE_PRINT_H

#include "base/text.h"
#include "upload/resolve/quarantine.h"

/** Appends it as a JSON object. */
void quarantine_print_json(struct text *out, const struct quarantined *range);

/** Appends its name, place and reason, without a newline. */
void quarantine_print_line(struct text *out, const struct quarantined *range);

#endif
