/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the lock of the session. */
#include "cli/transfer/session_writer.h"

#include <stdio.h>

#include "schema/layout.h"
#include "upload/source/liveness.h"

const char *session_writer(int root, const struct selected *session,
                           const struct scan *scan)
{
    char lock[JOURNAL_PATH_MAX + LAYOUT_PATH_MAX];
    snprintf(lock, sizeof lock, "%s/%s", session->path, LAYOUT_LOCK);
    switch (liveness_probe(&sys_real, root, lock,
                           scan->manifest_state == SCAN_MANIFEST_VALID ? &scan->manifest
                                                                       : NULL,
                           scan->last_write_s)) {
    case WRITER_LIVE:
        return "live";
    case WRITER_GONE:
        return "ended";
    case WRITER_UNKNOWN:
        break;
    }
    return "unknown";
}
