/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the lock file of a session. It tells that nothing is missing, so one that others
 * may have planted counts for nothing. */
#include "upload/source/told_size.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/boot_id.h"
#include "base/file.h"

/* Of the file after the one that it names, nothing was written yet. */
static bool told_size_reached(const struct active_files *told, const struct tail_where *w)
{
    char boot_id[BOOT_ID_TEXT];
    enum channel c = channel_named(w->channel);
    boot_id_get(boot_id);
    if (c == CHANNEL_COUNT || !boot_id[0] || strcmp(told->boot_id, boot_id) != 0 ||
        told->number[c] == 0 || told->bytes[c] < 0) {
        return false;
    }
    return told->number[c] < w->file ||
           (told->number[c] == w->file && (uint64_t)told->bytes[c] <= w->offset);
}

bool told_size_is_reached(const struct sys *sys, const struct tail_where *w)
{
    char text[LAYOUT_TOLD_BYTES];
    struct tail_where in;
    struct stat of_dir;
    struct stat of_file;
    struct active_files told;
    ssize_t n = -1;
    int dir = tail_where_enter(sys, w, &in);
    int fd = dir >= 0 ? file_open(sys, dir, LAYOUT_LOCK) : -1;
    if (fd >= 0 && fstat(dir, &of_dir) == 0 && fstat(fd, &of_file) == 0 &&
        of_file.st_uid == of_dir.st_uid) {
        n = file_pread_full(sys, fd, text, sizeof text, 0);
    }
    if (fd >= 0) {
        close(fd);
    }
    if (dir >= 0) {
        close(dir);
    }
    return n > 0 && active_files_parse(text, (size_t)n, &told) == GPUFL_OK &&
           told_size_reached(&told, w);
}
