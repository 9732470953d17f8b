/* SPDX-License-Identifier: Apache-2.0 */
/* Splits the lists and examines the folders. */
#include "agent/folders.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "agent/options/option_find.h"
#include "agent/options/option_value.h"
#include "base/message.h"
#include "schema/channels.h"

static gpufl_status refuse_channels(const struct options *o, const char *fault,
                                    char why[512])
{
    char option[OPTION_NAME_MAX];
    const struct option_row *row = option_of_field(offsetof(struct options, log_types));
    snprintf(why, 512,
             "%s: invalid value '%.*s%s': %s (expected some of " CHANNEL_LIST ")",
             option_name_used(o, row, option), MESSAGE_VALUE(o->log_types, 100), fault);
    return GPUFL_ERR_USAGE;
}

/* As of `device,$MORE`, where MORE is not set. */
static bool channels_have_empty(const char *list)
{
    const char *end = list + strcspn(list, ",");
    while (*end && list + strspn(list, " ") < end) {
        list = end + 1;
        end = list + strcspn(list, ",");
    }
    return list + strspn(list, " ") >= end;
}

gpufl_status folders_read_channels(const struct options *o, struct engine_channels *out,
                                   char why[512])
{
    memset(out, 0, sizeof *out);
    for (const char *at = o->log_types; *at;) {
        at += strspn(at, ", ");
        size_t len = strcspn(at, ", ");
        if (len == 0) {
            break;
        }
        char fault[100];
        char *name = out->name[out->count];
        snprintf(name, sizeof out->name[0], "%.*s", (int)len, at);
        if (!channel_is_known(name)) {
            snprintf(fault, sizeof fault, "no channel is called '%.*s'",
                     len < 40 ? (int)len : 40, at);
            return refuse_channels(o, fault, why);
        }
        for (unsigned i = 0; i < out->count; i++) {
            if (strcmp(out->name[i], name) == 0) { /* meant was another one */
                snprintf(fault, sizeof fault, "'%.*s' is given twice", (int)len, at);
                return refuse_channels(o, fault, why);
            }
        }
        out->count++;
        at += len;
    }
    return out->count == 0 ? refuse_channels(o, "it names no channel", why)
           : channels_have_empty(o->log_types)
               ? refuse_channels(o, "one of its elements is empty", why)
               : GPUFL_OK;
}

/* On a network file system inotify does not report what other machines write. The numbers
 * are those of statfs(2). */
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

bool folders_next(const char **list, char *path, size_t size)
{
    const char *at = *list ? *list + strspn(*list, ",") : "";
    size_t len = strcspn(at, ",");
    snprintf(path, size, "%.*s", (int)len, at);
    *list = at + len;
    return len > 0;
}

bool folders_at(const struct options *options, unsigned index, char *path, size_t size)
{
    const char *lists[] = {options->folder, options->folders};
    for (unsigned i = 0; i < 2; i++) {
        while (folders_next(&lists[i], path, size)) {
            if (index-- == 0) {
                return true;
            }
        }
    }
    return false;
}

const char *folders_hint(const char *path)
{
    return strpbrk(path, ":;") ? "; commas separate folders" : "";
}

bool folders_has(const char *list, const char *path)
{
    char known[PATH_MAX];
    while (folders_next(&list, known, sizeof known)) {
        if (strcmp(known, path) == 0) {
            return true;
        }
    }
    return false;
}

const char *folders_flag(const struct options *options, const char *path)
{
    return folders_has(options->folder, path) ? "--folder" : "--folders";
}

bool folders_any_remote(const char *list)
{
    char path[4096];
    while (folders_next(&list, path, sizeof path)) {
        if (is_remote(path)) {
            return true;
        }
    }
    return false;
}

bool folders_same(const char *list, const char *path, char *same, size_t size)
{
    struct stat one;
    struct stat other;
    if (stat(path, &one) < 0) {
        return false;
    }
    while (folders_next(&list, same, size)) {
        if (stat(same, &other) == 0 && one.st_dev == other.st_dev &&
            one.st_ino == other.st_ino) {
            return true;
        }
    }
    return false;
}

gpufl_status folders_list(const char *path, struct selection *into, char why[512])
{
    struct selection found;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        snprintf(why, 512, "%.300s: %s", path, strerror(errno));
        return GPUFL_ERR_NOT_FOUND;
    }
    gpufl_status status = select_list(&sys_real, fd, 0, &found);
    close(fd);
    if (status == GPUFL_OK && found.count) {
        status = select_join(into, &found);
    }
    if (status != GPUFL_OK) {
        snprintf(why, 512, "%.300s: cannot be listed: %s", path,
                 gpufl_status_text(status));
    }
    return status;
}
