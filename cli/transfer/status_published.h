/* SPDX-License-Identifier: Apache-2.0 */
/* What a service tells all users about a root, for those who cannot read its journal. */
#ifndef GPUFL_CLI_TRANSFER_STATUS_PUBLISHED_H
#define GPUFL_CLI_TRANSFER_STATUS_PUBLISHED_H

#include <stdbool.h>

#include "upload/journal/journal_read.h"

/** Adds to \p journal, which may be empty, what the service that serves the root
 * \p root_fd publishes: of each stream, the later position counts.
 * \return false if no service serves it, or has published anything yet. */
bool status_published_add(int root_fd, struct journal_read *journal);

#endif
