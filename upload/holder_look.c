/* SPDX-License-Identifier: Apache-2.0 */
/* Notes in struct holder_targets what the progress files of their uploader say. */
#include "upload/holder_look.h"

#include <string.h>

#include "base/hash.h"
#include "upload/holder_targets_state.h"

static size_t look_session(const struct holder_targets *t, const char *path)
{
    size_t at = lookup_first(&t->by_path, hash_text(t->seed, path));
    while (at != LOOKUP_NONE && strcmp(t->session[at].selected->path, path) != 0) {
        at = lookup_next(&t->by_path, at);
    }
    return at;
}

/* One that was renamed since the call is told under the path that it has now. */
static void look_note_moved(struct holder_targets *t, const struct progress_line *line)
{
    const char *slash = strrchr(line->path, '/');
    const char *id = slash ? slash + 1 : line->path;
    size_t at = lookup_first(&t->by_id, hash_text(t->seed, id));
    for (; at != LOOKUP_NONE; at = lookup_next(&t->by_id, at)) {
        struct holder_session *session = &t->session[at];
        if (strcmp(session->selected->id, id) == 0) {
            session->told.complete_elsewhere |= line->complete;
        }
    }
}

static void look_note_progress(void *arg, const struct progress_line *line)
{
    struct holder_targets *t = arg;
    size_t at = look_session(t, line->path);
    if (at == LOOKUP_NONE) {
        look_note_moved(t, line);
        return;
    }
    struct holder_session *session = &t->session[at];
    bool found = false;
    holder_session_note_line(session, line, t->epoch);
    t->moved += ((uint64_t)line->file << 40) + line->offset + line->complete;
    for (size_t i = t->first[at]; i < t->first[at + 1]; i++) {
        found = holder_target_note_line(&t->target[i], line) || found;
    }
    session->told.elsewhere = session->told.elsewhere || !found;
}

static void look_note_hold_of(struct holder_targets *t, size_t session,
                              const struct progress_note *note)
{
    bool all = strcmp(note->channel, "*") == 0;
    holder_session_note_hold(&t->session[session], note);
    for (size_t i = t->first[session]; i < t->first[session + 1]; i++) {
        struct holder_target *target = &t->target[i];
        target->held = target->held || all || strcmp(target->channel, note->channel) == 0;
    }
}

/* Of a session, or of all in a group. */
static void look_note_hold(void *arg, const struct progress_note *note)
{
    struct holder_targets *t = arg;
    size_t len = strlen(note->path);
    size_t at = len ? look_session(t, note->path) : LOOKUP_NONE;
    if (at != LOOKUP_NONE) {
        look_note_hold_of(t, at, note);
    }
    at = len ? lookup_first(&t->by_group, hash_text(t->seed, note->path)) : LOOKUP_NONE;
    for (; at != LOOKUP_NONE; at = lookup_next(&t->by_group, at)) {
        const char *path = t->session[at].selected->path;
        if (strncmp(path, note->path, len) == 0 && path[len] == '/') {
            look_note_hold_of(t, at, note);
        }
    }
}

/* Nothing of the last look counts. */
static void look_forget(struct holder_targets *t)
{
    for (size_t i = 0; i < t->sessions; i++) {
        holder_session_forget(&t->session[i]);
    }
    for (size_t i = 0; i < t->count; i++) {
        t->target[i].told = t->target[i].told_complete;
        t->target[i].held = false;
    }
}

/* Sessions that are complete can be very many, and that file seldom changes. */
static gpufl_status look_read_complete(struct holder_targets *t,
                                       const struct progress_origin *origin)
{
    for (size_t i = 0; i < t->sessions; i++) {
        t->session[i].told_complete = (struct holder_told){0};
    }
    for (size_t i = 0; i < t->count; i++) {
        t->target[i].told_complete = (struct holder_target_told){0};
    }
    look_forget(t);
    gpufl_status status = progress_read_file(t->sys, t->root, PROGRESS_OF_COMPLETE,
                                             origin, look_note_progress, t);
    for (size_t i = 0; i < t->sessions; i++) {
        t->session[i].told_complete = t->session[i].told;
    }
    for (size_t i = 0; i < t->count; i++) {
        t->target[i].told_complete = t->target[i].told;
    }
    return status == GPUFL_ERR_NOT_FOUND ? GPUFL_OK : status;
}

static bool look_is_new(struct holder_targets *t, enum progress_file file)
{
    struct progress_file_stamp stamp = progress_file_stamp(t->sys, t->root, file);
    bool same = t->looked && stamp.inode && stamp.inode == t->stamp[file].inode &&
                stamp.device == t->stamp[file].device &&
                stamp.bytes == t->stamp[file].bytes &&
                stamp.written_ns == t->stamp[file].written_ns;
    bool none = t->looked && !stamp.inode && !t->stamp[file].inode;
    t->stamp[file] = stamp;
    return !same && !none;
}

void holder_look_in_epoch(struct holder_targets *t, uint64_t epoch)
{
    t->looked = t->looked && epoch == t->epoch;
    t->epoch = epoch;
}

bool holder_look_doubts(const struct holder_targets *t)
{
    bool doubted = false;
    for (size_t i = 0; i < t->sessions; i++) {
        doubted = doubted || t->session[i].told.doubted;
    }
    return doubted;
}

/* Holds come first: one that ends meanwhile is of what goes on or is complete then. */
gpufl_status holder_look(struct holder_targets *t, const struct progress_origin *origin,
                         bool *changed)
{
    uint64_t database = origin ? origin->database : 0;
    t->looked = t->looked && database == t->database;
    bool open = look_is_new(t, PROGRESS_OF_OPEN);
    bool complete = look_is_new(t, PROGRESS_OF_COMPLETE);
    *changed = open || complete;
    if (!*changed) {
        return t->stamp[PROGRESS_OF_OPEN].inode ? GPUFL_OK : GPUFL_BUSY;
    }
    t->database = database;
    gpufl_status status = complete ? look_read_complete(t, origin) : GPUFL_OK;
    look_forget(t);
    t->moved = 0;
    progress_notes(t->sys, t->root, look_note_hold, t);
    if (status == GPUFL_OK) {
        status = progress_read_file(t->sys, t->root, PROGRESS_OF_OPEN, origin,
                                    look_note_progress, t);
    }
    t->looked = status == GPUFL_OK;
    return status == GPUFL_OK ? GPUFL_OK : GPUFL_BUSY;
}

struct holder_session *holder_look_session(const struct holder_targets *t,
                                           const char *path)
{
    size_t at = look_session(t, path);
    return at == LOOKUP_NONE ? NULL : &t->session[at];
}
