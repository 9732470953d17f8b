/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the small files of a session, and the records that close its channels. */
#include "cli/export_told.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json_text.h"
#include "base/message.h"
#include "schema/layout.h"
#include "schema/plain_object.h"
#include "schema/record_field.h"
#include "schema/records.h"

#define MANIFEST_BYTES_MAX (256u << 10)
#define MANIFEST_DEPTH_MAX 32
#define MARKER_BYTES_MAX   (64u << 10)
#define MADE_UP            "\"synthetic\":true" /* for a job that was killed */

void export_told_lacks(struct export_told *t, const char *what)
{
    message_line("gpufl export", "%s: %s", t->path, what);
    t->incomplete = true;
}

/* Writers lock it for writing; a lock for reading may be that of anybody. */
void export_told_begin(struct export_told *t, int dir, const char *path)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    int fd = file_open(&sys_real, dir, LAYOUT_LOCK);
    t->dir = dir;
    t->path = path;
    t->running = fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    if (fd >= 0) {
        close(fd);
    }
}

void export_told_line(struct export_told *t, enum channel channel, const char *line,
                      size_t len)
{
    if (record_field_is(line, len, "type", RECORD_CAPABILITIES)) {
        losses_raise(&t->losses, line, len);
    } else if (record_field_is(line, len, "type", RECORD_SHUTDOWN)) {
        t->ended[channel] = !memmem(line, len, MADE_UP, sizeof MADE_UP - 1);
    }
}

/* \return the lines that it says are lost; 0 if it does not. */
static uint64_t marker_lines(const struct export_told *t, const char *name)
{
    char *text = NULL;
    size_t len = 0;
    uint64_t lines =
        file_read(&sys_real, t->dir, name, MARKER_BYTES_MAX, &text, &len) == GPUFL_OK
            ? losses_of_marker(text, len)
            : 0;
    free(text);
    return lines;
}

/* The closing record counts the same lines, if it is there. */
static void told_read_markers(struct export_told *t)
{
    int fd = openat(t->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    uint64_t lines = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
        bool marker = losses_is_marker(entry->d_name);
        uint64_t more = marker ? marker_lines(t, entry->d_name) : 0;
        lines += more;
        if (marker && !more) {
            char what[512];
            snprintf(what, sizeof what, "lost: lines: %s does not tell how many",
                     entry->d_name);
            export_told_lacks(t, what);
        }
    }
    if (lines > t->losses.count[LOSS_LINES]) {
        t->losses.count[LOSS_LINES] = lines;
    }
    if (dir) {
        closedir(dir);
    } else if (fd >= 0) {
        close(fd);
    }
}

static void told_say_losses(struct export_told *t)
{
    for (int kind = 0; kind < LOSS_KINDS; kind++) {
        char what[512];
        if (t->losses.count[kind]) {
            snprintf(what, sizeof what, "lost: %" PRIu64 " %s", t->losses.count[kind],
                     losses_what((enum loss)kind));
            export_told_lacks(t, what);
        }
    }
}

/* A channel of the manifest. */
static void told_check_channel(struct export_told *t, struct record_text name)
{
    char what[LAYOUT_NAME_MAX + 128];
    char channel[LAYOUT_CHANNEL_MAX + 1];
    snprintf(channel, sizeof channel, "%.*s", (int)name.len, name.at);
    enum channel known = channel_named(channel);
    if (known == CHANNEL_COUNT || !t->there[known]) {
        snprintf(what, sizeof what, "%s: %s", channel,
                 known == CHANNEL_COUNT
                     ? "a channel that this version does not know is not printed"
                     : "no file of it is there, though the session has this channel");
        export_told_lacks(t, what);
    }
}

/* Names have no escapes. */
static void told_check_channels(struct export_told *t, struct record_text list)
{
    const char *end = list.at + list.len;
    const char *open = memchr(list.at, '"', list.len);
    while (open) {
        const char *name = open + 1;
        const char *close = memchr(name, '"', (size_t)(end - name));
        open = close ? memchr(close + 1, '"', (size_t)(end - close - 1)) : NULL;
        if (close) {
            told_check_channel(t, (struct record_text){name, (size_t)(close - name)});
        }
    }
}

/* Earlier writers have no list of channels in it, or no manifest. */
static void told_check_manifest(struct export_told *t)
{
    static const char *const member[] = {"channels"};
    struct record_text list;
    char *text = NULL;
    size_t len = 0;
    gpufl_status status =
        file_read(&sys_real, t->dir, LAYOUT_MANIFEST, MANIFEST_BYTES_MAX, &text, &len);
    if (status == GPUFL_ERR_NOT_FOUND) {
        return;
    }
    if (status != GPUFL_OK || !json_is_object(text, len, MANIFEST_DEPTH_MAX) ||
        !plain_object_read(text, len, member, 1, &list)) {
        export_told_lacks(t, LAYOUT_MANIFEST " is damaged or cannot be read: whether a "
                                             "channel is missing is not known");
    } else if (list.len) {
        told_check_channels(t, list);
    }
    free(text);
}

static void told_check_ends(struct export_told *t)
{
    char what[512];
    size_t len = 0;
    for (int c = 0; c < CHANNEL_COUNT; c++) {
        if (t->there[c] && !t->ended[c]) {
            len += (size_t)snprintf(what + len, sizeof what - len, "%s%s",
                                    len ? ", " : "", channel_name((enum channel)c));
        }
    }
    if (len && t->running) {
        message_line("gpufl export",
                     "%s: it is still being recorded, so this is not all of it (export "
                     "it again once the job has ended)",
                     t->path);
    } else if (len) {
        snprintf(what + len, sizeof what - len,
                 ": no " RECORD_SHUTDOWN
                 " of its writer, and nobody holds the session's lock: the "
                 "job was killed, or has lost the lock, or this is a copy that was made "
                 "while it ran");
        export_told_lacks(t, what);
    }
}

void export_told_say(struct export_told *t)
{
    told_read_markers(t);
    told_say_losses(t);
    told_check_manifest(t);
    told_check_ends(t);
}
