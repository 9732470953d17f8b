/* SPDX-License-Identifier: Apache-2.0 */
/* What is written to a file without a name is gone when its descriptor is closed. */
#include "collector-lib/core/active_name.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/plural.h"
#include "collector-lib/core/clock.h"
#include "collector-lib/core/library_log.h"
#include "collector-lib/core/loss_marker.h"

static void say_not_restored(struct channel_file *file, enum channel channel,
                             const char *id, int reason)
{
    if (!file->name_loss_said) {
        file->name_loss_said = true;
        library_log(
            GPUFL_LOG_ERROR,
            "%s/%s.log was removed or replaced, and cannot be restored yet: "
            "%s; its lines are lost if it cannot be before the session ends (free "
            "some space, or check the directory)",
            id, channel_name(channel), strerror(reason));
    }
}

/* The other file stays: somebody may want it. */
static bool mark_replaced(struct channel_file *file, int dir, enum channel channel,
                          uint64_t lost_lines)
{
    int64_t now_ns = clock_mono_ns() + clock_anchor_ns();
    const struct loss_marker marker = {.category = channel_name(channel),
                                       .index = file->rotated + 1,
                                       .reason = "active_file_replaced",
                                       .first_ns = now_ns,
                                       .last_ns = now_ns,
                                       .lines = lost_lines};
    return loss_marker_write(dir, &marker);
}

static void say_replaced(struct channel_file *file, enum channel channel, const char *id,
                         uint64_t lost_lines)
{
    if (!file->name_loss_said) {
        file->name_loss_said = true;
        library_log(GPUFL_LOG_ERROR,
                    "%s/%s.log was replaced by a file of other content: %" PRIu64
                    " %s lost (leave the files of a running session alone)",
                    id, channel_name(channel), lost_lines,
                    plural(lost_lines, "line is", "lines are"));
    }
}

enum active_name active_name_keep(struct channel_file *file, int dir,
                                  enum channel channel, const char *id)
{
    uint64_t lost_lines;
    if (own_fd_is_ours(&file->own) && channel_file_is_sealed(file, dir, channel)) {
        return ACTIVE_NAME_SEALED;
    }
    if (!own_fd_is_ours(&file->own) || channel_file_has_name(file, dir, channel)) {
        return ACTIVE_NAME_KEPT;
    }
    switch (channel_file_restore(file, dir, channel, &lost_lines)) {
    case CHANNEL_RESTORED:
        file->name_loss_said = false;
        return ACTIVE_NAME_RESTORED;
    case CHANNEL_NOT_RESTORED:
        say_not_restored(file, channel, id, errno);
        return ACTIVE_NAME_LOST;
    case CHANNEL_REPLACED:
        say_replaced(file, channel, id, lost_lines);
        return mark_replaced(file, dir, channel, lost_lines) ? ACTIVE_NAME_GIVEN_UP
                                                             : ACTIVE_NAME_LOST;
    }
    return ACTIVE_NAME_LOST;
}
