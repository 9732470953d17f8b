/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the writer of a session lives. */
#ifndef GPUFL_CLI_TRANSFER_SESSION_WRITER_H
#define GPUFL_CLI_TRANSFER_SESSION_WRITER_H

#include "upload/source/scan_session.h"
#include "upload/source/select.h"

/** \return "live", "ended" or "unknown" of \p session in the directory \p root, of which
 * \p scan is. */
const char *session_writer(int root, const struct selected *session,
                           const struct scan *scan);

#endif
