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
#include "upload/holder_session.h"
#include "upload/journal/lookup.h"
#include "upload/source/gz_file.h"
#include "upload/source/scan_session.h"
#include "upload/source/tail_where.h"

#define CHECK_PROGRESS_EVERY_MS 100
/* What is held keeps back the last lines of the other channels of its session: those in
 * which their writer says that it has ended. */
#define HELD_BACK_BYTES 4096u

/* What must be settled in one channel. */
struct target {
    size_t session; /**< of struct targets */
    char channel[LAYOUT_CHANNEL_MAX + 1];
    uint32_t file;
    uint64_t offset;
    bool named; /* the holder knows it */
    bool reached;
    bool nearly; /* but for what may be kept back */
    bool held;
};

struct targets {
    struct target *target;
    size_t count;
    struct holder_session *session;
    size_t sessions;
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
    struct target t = {.file = 1};
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

/* \return false if its progress cannot be compared, as its numbers shift. */
static bool collect_session(const struct sys *sys, int root, const struct selected *s,
                            const struct scan *scan, struct targets *out)
{
    holder_session_open(&out->session[out->sessions], s, scan);
    for (unsigned c = 0; c < scan->channels; c++) {
        if (scan->layout == SESSION_SHIFTING && scan->channel[c].highest) {
            return false;
        }
        struct target *t = &out->target[out->count++];
        *t = target_of(sys, root, s->path, scan->layout, &scan->channel[c]);
        t->session = out->sessions;
    }
    out->sessions++;
    return true;
}

static gpufl_status collect_targets(const struct sys *sys, int root,
                                    const struct selection *selection,
                                    struct targets *out)
{
    out->target = calloc(selection->count * SCAN_CHANNELS_MAX + 1, sizeof *out->target);
    out->session = calloc(selection->count + 1, sizeof *out->session);
    if (!out->target || !out->session) {
        return GPUFL_ERR_NOMEM;
    }
    for (size_t i = 0; i < selection->count; i++) {
        const struct selected *s = &selection->session[i];
        struct scan scan;
        if (scan_session(sys, root, s->path, s->id, &scan) != GPUFL_OK) {
            continue;
        }
        if (!collect_session(sys, root, s, &scan, out)) {
            return GPUFL_BUSY;
        }
        if (!lookup_add(&out->by_path, hash_text(out->seed, s->path))) {
            return GPUFL_ERR_NOMEM;
        }
    }
    return GPUFL_OK;
}

static size_t targets_session(const struct targets *targets, const char *path)
{
    size_t at = lookup_first(&targets->by_path, hash_text(targets->seed, path));
    while (at != LOOKUP_NONE && strcmp(targets->session[at].selected->path, path) != 0) {
        at = lookup_next(&targets->by_path, at);
    }
    return at;
}

/* \return the first target of a session; its others follow. */
static size_t targets_first(const struct targets *targets, size_t session)
{
    size_t low = 0;
    size_t high = targets->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (targets->target[middle].session < session) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void note_progress(void *arg, const struct progress_line *line)
{
    struct targets *targets = arg;
    size_t session = targets_session(targets, line->path);
    if (session == LOOKUP_NONE) {
        return;
    }
    holder_session_note_line(&targets->session[session], line);
    size_t i = targets_first(targets, session);
    for (; i < targets->count && targets->target[i].session == session; i++) {
        struct target *t = &targets->target[i];
        if (strcmp(t->channel, line->channel) == 0) {
            bool same = line->file == t->file;
            t->named = true;
            t->reached = line->file > t->file || (same && line->offset >= t->offset);
            t->nearly = same && t->offset - line->offset <= HELD_BACK_BYTES;
        }
    }
}

static void note_hold(void *arg, const struct progress_note *note)
{
    struct targets *targets = arg;
    size_t session = note->path[0] ? targets_session(targets, note->path) : LOOKUP_NONE;
    if (session == LOOKUP_NONE) {
        return;
    }
    bool all = strcmp(note->channel, "*") == 0;
    holder_session_note_hold(&targets->session[session], note);
    size_t i = targets_first(targets, session);
    for (; i < targets->count && targets->target[i].session == session; i++) {
        struct target *t = &targets->target[i];
        t->held = t->held || all || strcmp(t->channel, note->channel) == 0;
    }
}

static bool target_is_left(const struct target *t)
{
    return !t->reached && (t->offset > 0 || t->file > 1);
}

/* \return true if all is settled that can be before somebody acts. */
static bool all_over(const struct sys *sys, int root, const struct targets *targets,
                     bool holds_may_pass)
{
    for (size_t i = 0; i < targets->sessions; i++) {
        const struct holder_session *s = &targets->session[i];
        if (holder_session_is_held(s) &&
            (holds_may_pass || !holder_session_needs_person(s))) {
            return false;
        }
    }
    for (size_t i = 0; i < targets->count; i++) {
        const struct target *t = &targets->target[i];
        bool held = holder_session_is_held(&targets->session[t->session]);
        if (target_is_left(t) && !(held && (t->held || t->nearly))) {
            return false;
        }
    }
    for (size_t i = 0; i < targets->sessions; i++) {
        if (!holder_session_is_over(sys, root, &targets->session[i])) {
            return false;
        }
    }
    return true;
}

/* What is told is of one moment: nothing of the last look counts. Holds are read first:
 * one that ends meanwhile is of a session that goes on or is complete then. */
static gpufl_status targets_look(const struct sys *sys, int root,
                                 const struct progress_origin *origin,
                                 struct targets *targets)
{
    for (size_t i = 0; i < targets->sessions; i++) {
        holder_session_forget(&targets->session[i]);
    }
    for (size_t i = 0; i < targets->count; i++) {
        struct target *t = &targets->target[i];
        t->named = t->reached = t->nearly = t->held = false;
    }
    progress_notes(sys, root, note_hold, targets);
    return progress_read(sys, root, origin, note_progress, targets);
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
        const char *path = look->targets->session[t->session].selected->path;
        if (target_is_left(t) && !t->named &&
            fstatat(look->root, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            st.st_uid == note->owner) {
            *look->room = (struct holder_room){note->waits, note->owner};
        }
    }
}

static void targets_close(struct targets *targets)
{
    lookup_close(&targets->by_path);
    free(targets->target);
    free(targets->session);
}

gpufl_status wait_for_holder(const struct sys *sys, int root,
                             const struct selection *selection, struct holder_wait *wait)
{
    struct targets targets = {0};
    sys->random(&targets.seed, sizeof targets.seed);
    wait->room = (struct holder_room){0};
    wait->left = (struct engine_summary){0};
    gpufl_status status = collect_targets(sys, root, selection, &targets);
    while (status == GPUFL_OK) {
        uint64_t now_ms = sys->now_ms();
        if (targets_look(sys, root, wait->origin, &targets) != GPUFL_OK) {
            status = GPUFL_BUSY;
        } else if (all_over(sys, root, &targets, now_ms < wait->holds_from_ms)) {
            break;
        } else if (now_ms >= wait->deadline_ms) {
            status = GPUFL_PARTIAL;
        } else {
            poll(NULL, 0, CHECK_PROGRESS_EVERY_MS);
        }
    }
    if (status == GPUFL_PARTIAL) {
        struct room_look look = {.root = root, .targets = &targets, .room = &wait->room};
        progress_notes(sys, root, note_room, &look);
    }
    for (size_t i = 0; i < targets.sessions && status != GPUFL_BUSY; i++) {
        holder_session_count(sys, root, &targets.session[i], &wait->left);
    }
    targets_close(&targets);
    return status;
}
