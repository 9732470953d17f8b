/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel_event_batch in which each launch has a kernel_detail of its own. */
#ifndef GPUFL_CLI_EXPORT_BATCH_H
#define GPUFL_CLI_EXPORT_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include "cli/export_details.h"

/** Appends \p line (without newline) to \p out, behind the details that its launches
 * share with others. Any other record is appended as it is. \return the launches whose
 * detail the session does not have. */
uint64_t export_batch(struct export_details *details, const char *line, size_t len,
                      struct text *out);

#endif
