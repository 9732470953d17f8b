/* SPDX-License-Identifier: Apache-2.0 */
/* What a service tells all users about a root, for those who cannot read its journal. */
#ifndef GPUFL_CLI_TRANSFER_STATUS_PUBLISHED_H
#define GPUFL_CLI_TRANSFER_STATUS_PUBLISHED_H

#include "cli/transfer/status_view.h"
#include "upload/journal/journal_read.h"

/** Adds to \p journal, which may be empty, what the service that serves the root
 * \p root_fd, \p root_path, publishes: of each stream, the later position counts. A
 * journal that is not known to be about the database to which the service sends is
 * emptied before. \p source tells what was done; without a service, nothing is. */
void status_published_add(int root_fd, const char *root_path,
                          struct journal_read *journal, struct status_source *source);

#endif
