/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that `gpufl status` prints, to be pasted into a shell. */
#ifndef GPUFL_CLI_TRANSFER_STATUS_COMMAND_H
#define GPUFL_CLI_TRANSFER_STATUS_COMMAND_H

#include "base/text.h"

/** The arguments that they share. */
struct status_command {
    const char *directory;
    const char *state_dir; /**< NULL = the default */
};

/** The command that gives up what is gone; \p channel "*" = of the whole session. The
 * text is the caller's. */
struct text status_command_resolve(const struct status_command *s, const char *path,
                                   const char *channel);

/** The command that sends the session again. The text is the caller's. */
struct text status_command_force(const struct status_command *s, const char *path);

#endif
