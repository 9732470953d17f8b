/* SPDX-License-Identifier: Apache-2.0 */
/* What a session tells of itself is missing in it: what its recorder lost, channels of
 * which there is no file, and the end. */
#ifndef GPUFL_CLI_EXPORT_TOLD_H
#define GPUFL_CLI_EXPORT_TOLD_H

#include <stdbool.h>
#include <stddef.h>

#include "schema/channels.h"
#include "schema/losses.h"

/** Zero-initialise. */
struct export_told {
    const char *path; /**< of the session, for messages */
    int dir;
    bool running;              /**< its writer held the lock at first */
    bool there[CHANNEL_COUNT]; /**< the channel has files */
    bool ended[CHANNEL_COUNT]; /**< and its writer's shutdown */
    struct losses losses;      /**< the most that one of its records tells */
    bool incomplete;           /**< something was said to be missing */
};

/** Looks whether its writer runs. Before the first file is read: so each line that was
 * not whole is that of a writer that ran. */
void export_told_begin(struct export_told *told, int dir, const char *path);

/** Says on stderr that \p what is missing. */
void export_told_lacks(struct export_told *told, const char *what);

/** Takes in what a line of \p channel tells. */
void export_told_line(struct export_told *told, enum channel channel, const char *line,
                      size_t len);

/** Says on stderr what the lines, the loss markers and the manifest tell. */
void export_told_say(struct export_told *told);

#endif
