/* SPDX-License-Identifier: Apache-2.0 */
/* Looks whether a complete session has to be opened again: its files have grown, or the
 * backend may have gone back. */
#include "upload/lifecycle/parking_grown.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "upload/core/passed.h"
#include "upload/lifecycle/growth.h"
#include "upload/lifecycle/inspect_directory.h"
#include "upload/lifecycle/parking.h"
#include "upload/lifecycle/replaced.h"
#include "upload/lifecycle/returned.h"
#include "upload/source/directory_mark.h"

#define CLAIMED_AT_ONCE 64u
#define LOOKED_AT_FIRST 256u /* complete sessions at most, by the first listing */
/* Decoding so much counts as an inspection, of which a step of a listing makes 32. */
#define INSPECTION_BYTES (GZ_CACHE_STEP_BYTES / 32)

/* Journals of earlier versions do not say which directory it was. One that has not
 * changed since is taken for it: from then on, another user's is told from it. */
static void parking_note_directory(const struct root *root, struct parked_session *s)
{
    struct directory_id before = parked_directory(s);
    if (before.user || s->away) {
        return;
    }
    struct directory_id seen = directory_look(root->fd, s->node.path);
    parked_set_directory(s, &seen);
    if (!parking_append_directory(root, s)) {
        parked_set_directory(s, &before); /* at a later listing */
    }
}

/* As if it had not been looked at. */
static void parking_unlook(struct parked_session *s, const struct parked_session *before)
{
    s->unsent = before->unsent;
    s->names_ns = before->names_ns;
    s->changed_ns = before->changed_ns;
    s->rewritten = before->rewritten;
}

static void parking_say_rewritten(const struct root *root, const struct parked_session *s,
                                  uint8_t before)
{
    const char *slash = strrchr(s->node.path, '/');
    struct packed_stream stream[SCAN_CHANNELS_MAX];
    parked_streams(s, stream);
    for (unsigned i = 0; i < s->streams; i++) {
        const struct packed_stream *st = &stream[i];
        if (s->rewritten & ~before & 1u << st->channel) {
            log_warn(root->engine->config.log, "session.rewritten",
                     "session=%s channel=%s file=%u note=\"it was complete, and this "
                     "file is another one than was sent: it is not sent again\"",
                     slash ? slash + 1 : s->node.path, root->channel_name[st->channel],
                     st->sealed.file);
        }
    }
}

/* Nothing in it is new. What comes during the scan is noticed by another look. */
static void parking_note_stamp(struct root *root, struct parked_session *s,
                               const struct parked_session *before)
{
    struct inspection seen;
    bool changed = s->names_ns != before->names_ns || s->changed_ns != before->changed_ns;
    if (!s->hides_end || s->away || !s->wanted || !changed) {
        return;
    }
    const struct parked_session looked = *s;
    root->inspected++;
    gpufl_status status =
        inspect_directory(root, s->node.path, NULL, VISITS_STEP_NAMES, &seen);
    bool grew = growth_of(root, -1, s);
    bool same = status == GPUFL_OK && !grew && !root->engine->gz.busy &&
                s->changed_ns == looked.changed_ns && seen.changed == looked.names_ns;
    if (!same) {
        parking_unlook(s, &looked);
        s->names_ns = 0; /* the next look tries again */
    }
    uint32_t stamp = same ? scan_stamp(&seen.scan) : 0;
    bool another = s->stamp != stamp;
    s->stamp = stamp;
    root->parked.changed = root->parked.changed || another;
    root->engine->trouble.stamp += another;
}

enum parking_look {
    PARKING_ELSEWHERE, /* its directory is not there */
    PARKING_SAME,
    PARKING_GREW
};

/* What would be opened is looked at again in a directory that is open and was compared:
 * the path may have led elsewhere. */
static enum parking_look parking_look_inside(struct root *root, struct parked_session *s,
                                             const struct parked_session *before)
{
    struct statx seen;
    int dir = root->engine->config.sys->open_beneath(root->fd, s->node.path,
                                                     O_PATH | O_DIRECTORY, 0);
    bool good = dir >= 0 && directory_see(dir, &seen) && !replaced_parked(root, s, &seen);
    parking_unlook(s, before); /* what comes back is compared with what was there */
    bool grew = good && s->wanted && growth_of(root, dir, s);
    parking_say_rewritten(root, s, before->rewritten);
    if (good && s->wanted && returned_may_come(root, s)) {
        returned_parked(root, dir, s);
    }
    if (dir >= 0) {
        close(dir);
    }
    return grew ? PARKING_GREW : good ? PARKING_SAME : PARKING_ELSEWHERE;
}

/* The backend was in another epoch when it said that the session is complete. */
static bool parking_is_of_old(const struct root *root, const struct parked_session *s)
{
    const struct origin *origin = &root->engine->origin;
    struct packed_stream stream[SCAN_CHANNELS_MAX];
    if (origin->positions) {
        parked_streams(s, stream);
    }
    for (unsigned i = 0; origin->positions && i < s->streams; i++) {
        const struct record_end *end = &stream[i].end;
        bool claimed = end->at.offset || end->at.file > 1;
        if (claimed && end->epoch != origin->epoch) {
            return true;
        }
    }
    return false;
}

/* Opens it if it has grown, or is \p old. */
static bool parking_reopen_if(struct root *root, struct parked_session *s, bool old)
{
    const struct parked_session before = *s;
    bool grew = s->wanted && growth_of(root, -1, s);
    bool names = s->wanted && growth_of_names(root, s);
    const uint64_t names_ns = s->names_ns;
    if (grew || names || old || s->replaced || s->rewritten != before.rewritten ||
        returned_may_come(root, s)) {
        enum parking_look look = parking_look_inside(root, s, &before);
        grew = look == PARKING_GREW;
        names = names && look != PARKING_ELSEWHERE;
        old = old && look != PARKING_ELSEWHERE;
        s->names_ns = names_ns;
    }
    if (!grew && !names) {
        parking_note_directory(root, s);
        parking_note_stamp(root, s, &before);
    }
    if (!grew && !names && !old) {
        return false;
    }
    struct session *session = parking_open_again(root, s);
    if (!session) { /* the journal is broken: at a later listing */
        parking_unlook(s, &before);
        return false;
    }
    root->change_stamp += grew || names; /* of names, the inspection says what it finds */
    if (grew) {
        log_warn(root->engine->config.log, "session.grew",
                 "session=%s note=\"it was complete, and its files have changed since: "
                 "what is new is sent\"",
                 session->id);
    }
    session_mark(session);
    return true;
}

bool parking_reopen_grown(struct root *root, struct parked_session *s)
{
    if (s->wanted && root->epoch == root->engine->origin.epoch &&
        parking_is_of_old(root, s)) {
        root->epoch = root->epoch_asks = 0; /* a listing may find very many of these */
    }
    const struct log *log = root->engine->config.log;
    uint32_t about = log_about(log, s->owner);
    uint64_t before = gz_cache_spent(&root->engine->gz);
    bool opened = parking_reopen_if(root, s, false);
    log_about(log, about);
    uint64_t decoded = gz_cache_spent(&root->engine->gz) - before;
    root->inspected += (unsigned)(decoded / INSPECTION_BYTES);
    return opened;
}

bool parking_look_waits(const struct root *root)
{
    return !root->listed && !root->engine->config.once &&
           root->parked.complete > LOOKED_AT_FIRST;
}

void parking_begin_listing(struct root *root, uint64_t now_ms)
{
    root->inspects_complete =
        now_ms >= root->complete_inspect_ms && !parking_look_waits(root);
    if (root->inspects_complete) {
        root->complete_begun_ms = now_ms;
        root->complete_inspect_ms =
            now_ms + QUIET_LISTINGS * root->engine->config.rescan_interval_ms;
    }
}

/* However many there are, it takes a tenth of the time at most. */
void parking_end_listing(struct root *root, uint64_t now_ms)
{
    uint64_t next_ms = now_ms + 9 * (now_ms - root->complete_begun_ms);
    if (root->inspects_complete && next_ms > root->complete_inspect_ms) {
        root->complete_inspect_ms = next_ms;
    }
}

bool parking_is_to_be_asked(const struct root *root)
{
    const struct origin *origin = &root->engine->origin;
    return origin->state == ORIGIN_KNOWN && origin->positions &&
           root->epoch != origin->epoch;
}

struct parking_walk {
    struct root *root;
    unsigned room;
    unsigned opened;
};

static void parking_reopen_old(void *arg, struct path_node *node)
{
    struct parking_walk *walk = arg;
    struct parked_session *s = parked_of(node);
    if (walk->opened < walk->room && s->complete && s->wanted &&
        parking_is_of_old(walk->root, s) && parking_reopen_if(walk->root, s, true)) {
        walk->opened++;
    }
}

/* What is open may be quiet, and known by an inspection before the epoch was. */
static void parking_begin_asking(struct root *root)
{
    root->epoch_asks = root->engine->origin.epoch;
    root->epoch_left = root->parked.complete;
    for (struct session *s = root->sessions; s; s = s->next) {
        session_mark(s);
    }
}

void parking_ask_again(struct root *root)
{
    const struct engine *engine = root->engine;
    struct parking_walk walk = {.root = root};
    if (!parking_is_to_be_asked(root) || root->backend >= BACKEND_ASKED || root->away ||
        root->listing || visits_any_new(&engine->visits) ||
        engine->completing_count > CLAIMED_AT_ONCE / 2) {
        return; /* not for each one that is complete: there may be very many */
    }
    if (root->epoch_asks != engine->origin.epoch) {
        parking_begin_asking(root);
    }
    walk.room = CLAIMED_AT_ONCE - engine->completing_count;
    walk.room = walk.room < root->epoch_left ? walk.room : root->epoch_left;
    path_table_each(&root->parked.table, parking_reopen_old, &walk);
    root->epoch_left -= walk.opened;
    if (walk.opened == 0) {
        root->epoch = root->epoch_asks;
    }
}
