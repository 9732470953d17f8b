/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that `gpufl status` prints, to be pasted into a shell. */
#ifndef GPUFL_CLI_TRANSFER_STATUS_COMMAND_H
#define GPUFL_CLI_TRANSFER_STATUS_COMMAND_H

#include "base/text.h"
#include "upload/published/progress_file.h"

/** Longest text of who can run a command, NUL included. */
#define STATUS_COMMAND_WHO_MAX 64

/** The arguments that they share, and who can run them. */
struct status_command {
    const char *directory;
    const char *state_dir; /**< NULL = the default */
    bool elsewhere;        /**< the journal is not this user's, or not by default */
    char found[PROGRESS_STATE_MAX];
    char asker[STATUS_COMMAND_WHO_MAX];  /**< who can read that journal and leave
                                            requests, "" = this user */
    char keeper[STATUS_COMMAND_WHO_MAX]; /**< who can write it, likewise */
};

/** Finds out which journal the uploader of the directory \p root_fd at \p root_path
 * keeps, unless a person has named it. \p own: there is one of this user, which counts.
 */
void status_command_find(struct status_command *s, int root_fd, const char *root_path,
                         bool own);

/** The command that gives up what is gone; \p channel "*" = of the whole session. The
 * text is the caller's. */
struct text status_command_resolve(const struct status_command *s, const char *path,
                                   const char *channel);

/** The command that lists what is in quarantine. The text is the caller's. */
struct text status_command_quarantine(const struct status_command *s);

/** The command that sends the session again. The text is the caller's. */
struct text status_command_force(const struct status_command *s, const char *path);

#endif
