/* SPDX-License-Identifier: Apache-2.0 */
/* What the options say about folders and channels. */
#include "agent/folders.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

/* `a,b` into names; blanks and empty parts are skipped. */
gpufl_status folders_read_channels(const char *list, struct engine_channels *out,
                                   char why[512])
{
    char name[LAYOUT_CHANNEL_MAX + 2];
    memset(out, 0, sizeof *out);
    for (const char *at = list; *at;) {
        at += strspn(at, ", ");
        size_t len = strcspn(at, ", ");
        if (len == 0) {
            break;
        }
        snprintf(name, sizeof name, "%.*s", (int)len, at);
        if (!layout_channel_ok(name) || len > LAYOUT_CHANNEL_MAX ||
            out->count == SCAN_CHANNELS_MAX) {
            snprintf(why, 512,
                     "--log-types: \"%.100s\" has a name that is no channel, or "
                     "more than %u of them",
                     list, SCAN_CHANNELS_MAX);
            return GPUFL_ERR_USAGE;
        }
        strcpy(out->name[out->count++], name);
        at += len;
    }
    return GPUFL_OK;
}

/* Network file systems tell nothing of what other machines write (statfs(2) magic
 * numbers). */
static bool is_remote(const char *path)
{
    static const unsigned long magic[] = {0x6969,     0x517b,     0xff534d42, 0xfe534d42,
                                          0x0bd00bd0, 0x65735546, 0x01021997};
    struct statfs fs;
    if (statfs(path, &fs) < 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof magic / sizeof magic[0]; i++) {
        if (((unsigned long)fs.f_type & 0xffffffff) == magic[i]) {
            return true;
        }
    }
    return false;
}

bool folders_any_remote(const char *list)
{
    char path[4096];
    while (list && *list) {
        size_t len = strcspn(list, ",");
        snprintf(path, sizeof path, "%.*s", (int)len, list);
        if (len && is_remote(path)) {
            return true;
        }
        list += len + (list[len] == ',');
    }
    return false;
}

gpufl_status folders_list(const char *path, struct selection *into)
{
    struct selection found;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    gpufl_status status =
        fd >= 0 ? select_list(&sys_real, fd, &found) : GPUFL_ERR_NOT_FOUND;
    if (fd >= 0) {
        close(fd);
    }
    if (status == GPUFL_OK && found.count) {
        status = select_join(into, &found);
    }
    return status;
}
