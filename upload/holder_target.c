/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the end of a channel by its files. */
#include "upload/holder_target.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "upload/source/gz_file.h"
#include "upload/source/tail_where.h"

/* What is held keeps back the last lines of the other channels of its session: those in
 * which their writer says that it has ended. */
#define HELD_BACK_BYTES 4096u
/* By which files of a channel may be alike. */
#define BEGINNING_BYTES 512u

static uint64_t holder_target_sealed_bytes(const struct sys *sys, int root,
                                           const char *path,
                                           const struct scan_channel *channel, bool *gz)
{
    const struct tail_where where = {
        .root = root, .path = path, .channel = channel->name};
    struct stat st;
    uint64_t bytes = 0;
    *gz = false;
    int fd = tail_where_open_either(sys, &where, channel->highest, gz);
    if (fd >= 0) {
        bytes = fstat(fd, &st) < 0 ? 0 : (uint64_t)st.st_size;
        bytes = *gz ? gz_file_says_bytes(sys, fd, bytes) : bytes;
        close(fd);
    }
    return bytes;
}

struct holder_target holder_target_of(const struct sys *sys, int root, const char *path,
                                      enum session_layout layout,
                                      const struct scan_channel *channel)
{
    struct holder_target t = {.file = 1};
    memcpy(t.channel, channel->name, sizeof t.channel);
    if (layout == SESSION_WINDOWS) {
        t.file = channel->highest + 1;
    } else if (channel->active_bytes > 0 || channel->highest == 0) {
        t.file = layout == SESSION_LIVE ? channel->highest + 1 : 1;
        t.offset = channel->active_bytes;
    } else {
        t.file = channel->highest;
        t.offset = holder_target_sealed_bytes(sys, root, path, channel, &t.guessed);
    }
    return t;
}

static int holder_target_open_active(const struct sys *sys, int root, const char *path,
                                     const char *channel)
{
    char name[LAYOUT_PATH_MAX];
    char file[JOURNAL_PATH_MAX + LAYOUT_PATH_MAX];
    layout_active(name, channel, false);
    snprintf(file, sizeof file, "%s/%s", path, name);
    return sys->open_beneath(root, file, O_RDONLY | O_NONBLOCK, 0);
}

static uint64_t holder_target_size(int fd)
{
    struct stat st;
    return fstat(fd, &st) < 0 ? 0 : (uint64_t)st.st_size;
}

struct holder_target holder_target_of_active(const struct sys *sys, int root,
                                             const char *path,
                                             const struct scan_channel *channel)
{
    struct holder_target t = {.file = 1, .first = channel->highest == 0};
    memcpy(t.channel, channel->name, sizeof t.channel);
    int fd = holder_target_open_active(sys, root, path, channel->name);
    if (fd >= 0) {
        t.known = file_known_of(fd);
        t.offset = holder_target_size(fd);
        close(fd);
    }
    return t;
}

bool holder_target_is_passed(const struct sys *sys, int root, const char *path,
                             const struct holder_target *target, bool *grew)
{
    const struct holder_target_told *told = &target->told;
    int fd = holder_target_open_active(sys, root, path, target->channel);
    if (fd < 0) {
        return false;
    }
    struct file_known known = file_known_of(fd);
    uint64_t size = holder_target_size(fd);
    bool same = file_known_same(&known, &target->known) && size >= target->offset;
    bool alone = target->first && same;
    bool in_it =
        told->mark.bytes && (alone || told->offset >= BEGINNING_BYTES) &&
        file_mark_match(sys, fd, NULL, &told->mark, told->offset) == FILE_MATCHES;
    close(fd);
    *grew = *grew || !same || size > target->offset;
    return in_it && (!same || told->offset >= target->offset);
}

bool holder_target_note_line(struct holder_target *target,
                             const struct progress_line *line)
{
    bool same = line->file == target->file;
    if (strcmp(target->channel, line->channel) != 0) {
        return false;
    }
    target->told = (struct holder_target_told){
        .named = true,
        .reached = line->file > target->file || (same && line->offset >= target->offset),
        .nearly = same && target->offset - line->offset <= HELD_BACK_BYTES,
        .offset = line->offset,
        .mark = line->mark};
    return true;
}
