/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the progress of another uploader with the directory as it was at the call. */
#include "upload/wait_holder.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "upload/journal/lookup.h"
#include "upload/source/gz_file.h"
#include "upload/source/scan_session.h"
#include "upload/source/tail_where.h"

#define CHECK_PROGRESS_EVERY_MS 100

/* What must be settled in one channel. */
struct target {
    const char *path;
    char channel[LAYOUT_CHANNEL_MAX + 1];
    uint32_t file;
    uint64_t offset;
    bool named; /* the holder knows it */
    bool reached;
};

struct targets {
    struct target *target;
    size_t count;
    struct lookup by_path; /**< of these */
    uint32_t seed;         /**< of the hashes: others choose the paths, but not this */
};

static uint64_t sealed_size(const struct sys *sys, int root, const char *path,
                            const struct scan_channel *channel)
{
    const struct tail_where where = {
        .root = root, .path = path, .channel = channel->name};
    struct stat st;
    uint64_t bytes = 0;
    bool gz;
    int fd = tail_where_open_either(sys, &where, channel->highest, &gz);
    if (fd >= 0) {
        bytes = fstat(fd, &st) < 0 ? 0 : (uint64_t)st.st_size;
        bytes = gz ? gz_file_says_bytes(sys, fd, bytes) : bytes;
        close(fd);
    }
    return bytes;
}

static struct target target_of(const struct sys *sys, int root, const char *path,
                               enum session_layout layout,
                               const struct scan_channel *channel)
{
    struct target t = {.path = path, .file = 1};
    memcpy(t.channel, channel->name, sizeof t.channel);
    if (layout == SESSION_WINDOWS) {
        t.file = channel->highest + 1;
    } else if (channel->active_bytes > 0 || channel->highest == 0) {
        t.file = layout == SESSION_LIVE ? channel->highest + 1 : 1;
        t.offset = channel->active_bytes;
    } else {
        t.file = channel->highest;
        t.offset = sealed_size(sys, root, path, channel);
    }
    return t;
}

static gpufl_status collect_targets(const struct sys *sys, int root,
                                    const struct selection *selection,
                                    struct targets *out)
{
    out->target = calloc(selection->count * SCAN_CHANNELS_MAX + 1, sizeof *out->target);
    if (!out->target) {
        return GPUFL_ERR_NOMEM;
    }
    for (size_t i = 0; i < selection->count; i++) {
        const struct selected *s = &selection->session[i];
        struct scan scan;
        if (scan_session(sys, root, s->path, s->id, &scan) != GPUFL_OK) {
            continue;
        }
        for (unsigned c = 0; c < scan.channels; c++) {
            if (scan.layout == SESSION_SHIFTING && scan.channel[c].highest) {
                return GPUFL_BUSY; /* its numbers shift: progress cannot be compared */
            }
            out->target[out->count++] =
                target_of(sys, root, s->path, scan.layout, &scan.channel[c]);
            if (!lookup_add(&out->by_path, hash_text(out->seed, s->path))) {
                return GPUFL_ERR_NOMEM;
            }
        }
    }
    return GPUFL_OK;
}

static void note_progress(void *arg, const struct progress_line *line)
{
    struct targets *targets = arg;
    size_t at = lookup_first(&targets->by_path, hash_text(targets->seed, line->path));
    for (; at != LOOKUP_NONE; at = lookup_next(&targets->by_path, at)) {
        struct target *t = &targets->target[at];
        if (strcmp(t->path, line->path) == 0 && strcmp(t->channel, line->channel) == 0) {
            t->named = true;
            t->reached = line->file > t->file ||
                         (line->file == t->file && line->offset >= t->offset);
        }
    }
}

static bool target_is_left(const struct target *t)
{
    return !t->reached && (t->offset > 0 || t->file > 1);
}

static bool all_reached(const struct targets *targets)
{
    for (size_t i = 0; i < targets->count; i++) {
        if (target_is_left(&targets->target[i])) {
            return false;
        }
    }
    return true;
}

struct room_look {
    int root;
    const struct targets *targets;
    struct holder_room *room;
};

/* A directory for which there is no room is not looked into: nothing is told of it. */
static void note_room(void *arg, const struct progress_note *note)
{
    struct room_look *look = arg;
    struct stat st;
    for (size_t i = 0; note->waits && !look->room->waits && i < look->targets->count;
         i++) {
        const struct target *t = &look->targets->target[i];
        if (target_is_left(t) && !t->named &&
            fstatat(look->root, t->path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            st.st_uid == note->owner) {
            *look->room = (struct holder_room){note->waits, note->owner};
        }
    }
}

gpufl_status wait_for_holder(const struct sys *sys, int root,
                             const struct selection *selection,
                             const struct progress_origin *origin, uint64_t deadline_ms,
                             struct holder_room *room)
{
    struct targets targets = {0};
    sys->random(&targets.seed, sizeof targets.seed);
    gpufl_status status = collect_targets(sys, root, selection, &targets);
    while (status == GPUFL_OK) {
        if (progress_read(sys, root, origin, note_progress, &targets) != GPUFL_OK) {
            status = GPUFL_BUSY;
        } else if (all_reached(&targets)) {
            break;
        } else if (sys->now_ms() >= deadline_ms) {
            status = GPUFL_PARTIAL;
        } else {
            poll(NULL, 0, CHECK_PROGRESS_EVERY_MS);
        }
    }
    *room = (struct holder_room){0};
    if (status == GPUFL_PARTIAL) {
        progress_notes(
            sys, root, note_room,
            &(struct room_look){.root = root, .targets = &targets, .room = room});
    }
    lookup_close(&targets.by_path);
    free(targets.target);
    return status;
}
