/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps an active file that other programs remove, rename, replace or cut, and says what
 * is lost. */
#ifndef GPUFL_COLLECTOR_CORE_ACTIVE_NAME_H
#define GPUFL_COLLECTOR_CORE_ACTIVE_NAME_H

#include "collector-lib/core/channel_file.h"
#include "schema/channels.h"

enum active_name {
    ACTIVE_NAME_KEPT,
    ACTIVE_NAME_RESTORED, /**< it has another inode */
    ACTIVE_NAME_LOST,     /**< a later try may succeed; until then, the loss is marked */
    ACTIVE_NAME_SEALED,   /**< it has its next number: begin a new one */
    ACTIVE_NAME_GIVEN_UP, /**< a file of other content has it, or it was cut, and the loss
                             is marked: seal that file, so that what follows is kept in a
                             new one */
};

/** Checks the active file and its name, and restores that where possible. \p id, of the
 * session, is for messages; each loss is said once. \p lost: of what was written to it
 * (\p had) what no file with its name has. */
enum active_name active_name_keep(struct channel_file *file, int dir,
                                  enum channel channel, const char *id,
                                  const struct session_amount *had,
                                  struct session_amount *lost);

/** \p len bytes of \p lines were just appended. If another program has cut the file
 * within a line before that, what is there from that line on counts as half a line; if it
 * cannot be read whether it has, what was appended does. \return true if so: it is to be
 * cut off. */
bool active_name_merges(struct channel_file *file, const char *lines, size_t len);

/** Seals the active file and begins a new one. Says once if its number is taken. */
void active_name_seal(struct channel_file *file, int dir, enum channel channel,
                      const char *id);

#endif
