/* SPDX-License-Identifier: Apache-2.0 */
/* Whose sessions decide the exit status of `gpufl status`: this user's; if all are asked
 * for, the same as in an upload. */
#ifndef GPUFL_CLI_TRANSFER_STATUS_CONCERN_H
#define GPUFL_CLI_TRANSFER_STATUS_CONCERN_H

#include <stdbool.h>

#include "upload/journal/journal_read.h"
#include "upload/published/progress_parse.h"
#include "upload/source/select.h"

/** What a directory holds. */
struct status_concern {
    int root;
    bool all; /**< those of other users, too */
    const struct selection *sessions;
    const struct journal_read *journal;
    struct lookup ids; /**< of the sessions of the journal, then of those listed: of those
                          that may be rivals, of others the path */
    struct lookup paths;  /**< of those listed */
    struct lookup groups; /**< likewise; of one without a group, of its path */
};

/** Fills in \p ids, \p paths and \p groups, which are empty, and sets \p all where no
 * session is this user's: who asks there, asks for others. \return false without memory.
 */
bool status_concern_open(struct status_concern *in);

void status_concern_close(struct status_concern *in);

/** \return false for a session of another user, unless all count or it has the place of
 * one of this user; and for one that no upload of this user is to send in any case, as it
 * is left to another uploader, or has the id of a session that was sent or is this
 * user's. Anybody can make such ones. */
bool status_concerns(const struct status_concern *in, const struct selected *session);

/** The same of what the uploader holds: a session, or a directory that it leaves to
 * another one. If that is gone, it counts for whom the uploader told as its owner. */
bool status_concerns_note(const struct status_concern *in,
                          const struct progress_note *note);

/** Whether what the journal tells of the session \p path counts, wherever that is now. */
bool status_concerns_known(const struct status_concern *in, const char *path);

#endif
