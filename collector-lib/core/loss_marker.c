/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a loss marker under another name first, so that it is whole or not there. */
#include "collector-lib/core/loss_marker.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "schema/layout.h"

bool loss_marker_write(int dir, const struct loss_marker *marker)
{
    char name[LAYOUT_PATH_MAX];
    char temp[LAYOUT_PATH_MAX + 8];
    char text[512];
    layout_loss(name, marker->category, marker->index);
    snprintf(temp, sizeof temp, "%s.part", name);
    int len =
        snprintf(text, sizeof text,
                 "{\"schema_version\":1,\"type\":\"transport_window_loss\",\"channel\":"
                 "\"%s\",\"window_index\":%u,\"reason\":\"%s\",\"first_ns\":%" PRId64
                 ",\"last_ns\":%" PRId64 ",\"lines\":%" PRIu64 "}\n",
                 marker->category, marker->index, marker->reason, marker->first_ns,
                 marker->last_ns, marker->lines);
    unlinkat(dir, temp, 0); /* of a crash, or another user's: never opened */
    int fd =
        openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0) {
        return false;
    }
    bool whole = write(fd, text, (size_t)len) == len;
    close(fd);
    bool marked = whole && renameat(dir, temp, dir, name) == 0;
    if (!marked) {
        unlinkat(dir, temp, 0);
    }
    return marked;
}
