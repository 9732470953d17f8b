/* SPDX-License-Identifier: Apache-2.0 */
/* What stands in the way of a whole session. */
#ifndef GPUFL_CLI_TRANSFER_SESSION_PROBLEM_H
#define GPUFL_CLI_TRANSFER_SESSION_PROBLEM_H

#include "upload/journal/journal_read.h"
#include "upload/source/scan_session.h"

/** Whether the journal knows the session \p path as a live one. */
bool session_was_live(const struct journal_read *journal, const char *path);

/** Why nothing of the session \p path is sent, which \p scan is about; NULL = nothing is
 * wrong. */
const char *session_problem(int root, const struct journal_read *journal,
                            const char *path, const struct scan *scan);

#endif
