/* SPDX-License-Identifier: Apache-2.0 */
/* Says what is wrong with a session as a whole, by its manifest and the journal. */
#include "cli/transfer/session_problem.h"

#include "cli/transfer/other_session.h"
#include "upload/core/held.h"

bool session_was_live(const struct journal_read *journal, const char *path)
{
    const struct journal_read_stream *at = journal_read_first(journal, path);
    while (at && at->record.layout != 1 + SESSION_LIVE) {
        at = journal_read_next(journal, at);
    }
    return at != NULL;
}

const char *session_problem(int root, const struct journal_read *journal,
                            const char *path, const struct scan *scan)
{
    switch (scan->manifest_state) {
    case SCAN_MANIFEST_VALID:
        return NULL;
    case SCAN_MANIFEST_NEWER:
        return held_text(HELD_MANIFEST_NEWER);
    case SCAN_MANIFEST_DAMAGED:
        return held_text(HELD_MANIFEST_DAMAGED);
    case SCAN_MANIFEST_OTHER:
        return held_text(session_was_live(journal, path)
                             ? HELD_MANIFEST_DAMAGED
                             : other_session_reason(root, path, scan->other));
    case SCAN_MANIFEST_UNREADABLE:
        return held_text(HELD_MANIFEST_UNREADABLE);
    case SCAN_MANIFEST_NONE:
        break;
    }
    return session_was_live(journal, path) ? held_text(HELD_MANIFEST_GONE) : NULL;
}
