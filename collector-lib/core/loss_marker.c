/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a loss marker under another name first, so that it is whole or not there. A disk
 * that is full takes no new file: then the bytes of the reserve, or of the marker that is
 * there, are written over. All have the same size, so that needs no room. */
#include "collector-lib/core/loss_marker.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector-lib/core/own_fd.h"
#include "schema/layout.h"

#define MARKER_BYTES 512

/* One line, filled up with blanks. */
static void marker_format(const struct loss_marker *marker, char text[MARKER_BYTES + 1])
{
    int len =
        snprintf(text, MARKER_BYTES,
                 "{\"schema_version\":1,\"type\":\"transport_window_loss\",\"channel\":"
                 "\"%s\",\"window_index\":%u,\"reason\":\"%s\",\"first_ns\":%" PRId64
                 ",\"last_ns\":%" PRId64 ",\"lines\":%" PRIu64 "}",
                 marker->category, marker->index, marker->reason, marker->first_ns,
                 marker->last_ns, marker->lines);
    snprintf(text + len, (size_t)(MARKER_BYTES + 1 - len), "%*s", MARKER_BYTES - len,
             "\n");
}

static bool marker_create(int dir, const char *name, const char *text)
{
    struct own_fd file;
    int fd =
        openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (!own_fd_take_named_briefly(&file, fd, dir, name)) {
        return false;
    }
    errno = ENOSPC; /* of a write that is cut short */
    bool whole = own_fd_write(&file, text, MARKER_BYTES) == MARKER_BYTES;
    int reason = errno;
    own_fd_close(&file);
    if (!whole) {
        unlinkat(dir, name, 0);
        errno = reason;
    }
    return whole;
}

/* Only a file that we made: others may have taken the name. */
static bool marker_overwrite(int dir, const char *name, const char *text)
{
    struct stat st;
    struct own_fd file;
    bool whole =
        own_fd_take_named_briefly(
            &file, openat(dir, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), dir,
            name) &&
        fstat(file.fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
        st.st_uid == geteuid() && st.st_size == MARKER_BYTES &&
        own_fd_pwrite(&file, text, MARKER_BYTES, 0) == MARKER_BYTES;
    own_fd_close(&file);
    return whole;
}

bool loss_marker_write(int dir, const struct loss_marker *marker)
{
    char name[LAYOUT_PATH_MAX];
    char temp[LAYOUT_PATH_MAX + 8];
    char text[MARKER_BYTES + 1];
    layout_loss(name, marker->category, marker->index);
    snprintf(temp, sizeof temp, "%s.part", name);
    marker_format(marker, text);
    unlinkat(dir, temp, 0); /* of a crash, or another user's: never opened */
    if (marker_create(dir, temp, text)) {
        if (renameat(dir, temp, dir, name) == 0) {
            return true;
        }
        unlinkat(dir, temp, 0);
    }
    int reason = errno;
    bool marked = marker_overwrite(dir, name, text) ||
                  (marker_overwrite(dir, LAYOUT_RESERVE, text) &&
                   renameat(dir, LAYOUT_RESERVE, dir, name) == 0);
    errno = reason;
    return marked;
}

void loss_marker_reserve(int dir)
{
    char blank[MARKER_BYTES + 1];
    snprintf(blank, sizeof blank, "%*s", MARKER_BYTES, "\n");
    (void)marker_create(dir, LAYOUT_RESERVE, blank); /* unless it is there */
}

void loss_marker_remove(int dir, const char *category, unsigned index)
{
    char name[LAYOUT_PATH_MAX];
    layout_loss(name, category, index);
    unlinkat(dir, name, 0);
    loss_marker_reserve(dir); /* it may have become this marker */
}

void loss_marker_release(int dir)
{
    unlinkat(dir, LAYOUT_RESERVE, 0);
}
