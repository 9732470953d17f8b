/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for what nothing is known of, as its group is closed. */
#include "upload/upload_closed.h"

#include "upload/core/held.h"
#include "upload/journal/journal_read.h"
#include "upload/source/directory_mark.h"
#include "upload/upload_result.h"

static bool closed_is_named(const struct upload *u)
{
    return !u->options.all_sessions && u->selection.count == 1 &&
           directory_is_closed(u->root, u->selection.session[0].path);
}

static const char *closed_in_journal(const struct upload *u,
                                     const struct journal_read *journal)
{
    for (size_t i = 0; i < journal->sessions; i++) {
        const char *path = journal->session[i].done.path;
        if (journal->session[i].first != LOOKUP_NONE &&
            directory_is_closed_own(u->root, path,
                                    journal_read_directory(journal, path))) {
            return path;
        }
    }
    return NULL;
}

static gpufl_status closed_say_known(struct upload *u)
{
    struct journal_read journal;
    const char *path =
        upload_journal_open(u, &journal) ? closed_in_journal(u, &journal) : NULL;
    gpufl_status status = GPUFL_OK;
    if (path) {
        status = upload_result_say(u->result, GPUFL_PARTIAL,
                                   "not everything was sent: session %.250s waits: %s",
                                   path, held_text(HELD_DIRECTORY));
    }
    journal_read_fini(&journal);
    return status;
}

gpufl_status upload_closed(struct upload *u)
{
    if (closed_is_named(u)) {
        return upload_result_say(u->result, GPUFL_PARTIAL,
                                 "not everything was sent: nothing shows whether session "
                                 "%.250s is there, or has grown (let this user search "
                                 "the directory above it)",
                                 u->selection.session[0].path);
    }
    /* Of those that the engine knows, it has told. */
    return u->options.all_sessions && !u->engine ? closed_say_known(u) : GPUFL_OK;
}
