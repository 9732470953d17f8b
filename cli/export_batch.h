/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel_event_batch in which each launch has a kernel_detail of its own. */
#ifndef GPUFL_CLI_EXPORT_BATCH_H
#define GPUFL_CLI_EXPORT_BATCH_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/export_details.h"

/** Writes \p line (without newline) to \p out, behind the details that its launches share
 * with others, one after the other: a batch may have very many. Any other record is
 * written as it is. \p text is used meanwhile; it has failed when memory was lacking, and
 * \p out when it could not be written. \return the launches whose detail the session does
 * not have. */
uint64_t export_batch(struct export_details *details, const char *line, size_t len,
                      struct text *text, FILE *out);

#endif
