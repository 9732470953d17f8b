/* SPDX-License-Identifier: Apache-2.0 */
/* Compares what another uploader tells with what the journal knows. */
#include "upload/engine/progress_follow.h"

#include <string.h>

#include "base/hash.h"
#include "upload/core/offer.h"
#include "upload/core/session_streams.h"
#include "upload/engine/progress_import.h"
#include "upload/engine/progress_others.h"
#include "upload/lifecycle/parking.h"

#define FOLLOW_EVERY_MS 100u /* it is written once a second */

struct follow {
    struct root *root;
    unsigned moved; /* streams */
    bool waits;     /* for answers about some of them */
    bool runs;      /* the journal is open for records */
};

/* Of one that is complete: it has grown since. */
static bool follow_parked_grew(const struct root *root, const struct parked_session *s,
                               const struct progress_line *line)
{
    struct packed_stream stream[SCAN_CHANNELS_MAX];
    bool grew = false;
    parked_streams(s, stream);
    for (unsigned i = 0; i < s->streams; i++) {
        grew =
            grew || (strcmp(root->channel_name[stream[i].channel], line->channel) == 0 &&
                     progress_import_is_newer(line, stream[i].file, stream[i].offset));
    }
    return grew;
}

static struct session *follow_session(const struct follow *follow,
                                      const struct progress_line *line)
{
    struct root *root = follow->root;
    struct parked_session *parked = parked_find(&root->parked, line->path);
    if (!parked) {
        return session_make(root, line->path);
    }
    bool goes_on =
        !parked->held && (!parked->complete || follow_parked_grew(root, parked, line));
    return goes_on ? parking_open(root, parked) : NULL;
}

/* By positions, the backend itself tells where a stream ends. */
static void follow_line(void *arg, const struct progress_line *line)
{
    struct follow *follow = arg;
    struct session *session = follow_session(follow, line);
    struct stream *st = session ? session_stream(session, line->channel) : NULL;
    if (session) {
        progress_import_directory(session, line);
    }
    if (!st || st->positions || !progress_import_is_newer(line, st->file, st->offset)) {
        return;
    }
    if (st->offer && st->offer->state == OFFER_IN_FLIGHT) {
        follow->waits = true;
        return;
    }
    progress_import_stream(st, line);
    follow->moved++;
    if (follow->runs) {
        const struct record_stream record = stream_record(st);
        (void)!record_append_stream(follow->root->journal, &record); /* or all, later */
        session_note_directory(session);
    }
}

/* What another backend has, this one was not sent. */
static gpufl_status follow_read(struct follow *follow)
{
    const struct engine_config *config = &follow->root->engine->config;
    const struct progress_origin origin = {config->backend ? config->backend->url : "",
                                           follow->root->origin.now.database};
    bool compared = config->backend && !config->same_origin;
    return progress_read(config->sys, follow->root->fd, compared ? &origin : NULL,
                         follow_line, follow);
}

static uint64_t follow_stamp(const struct root *root)
{
    struct progress_file_stamp stamp =
        progress_file_stamp(root->engine->config.sys, root->fd, PROGRESS_OF_OPEN);
    return stamp.inode ? hash64_bytes(HASH64_BASIS, &stamp, sizeof stamp) : 0;
}

/* The URL is compared when the lines are read. Where databases are named, they count: a
 * key may be replaced. */
static enum progress_key_match follow_key(const struct root *root,
                                          const struct progress_writer *writer, bool lost)
{
    const struct engine_config *config = &root->engine->config;
    uint64_t database =
        config->backend ? progress_database(config->sys, root->fd, config->backend->url)
                        : 0;
    bool named = database && (lost || database == root->origin.now.database);
    return progress_others_key(root, writer, named);
}

/* Only if it is about the same key for certain. */
static bool follow_import(struct follow *follow)
{
    struct root *root = follow->root;
    const struct engine_config *config = &root->engine->config;
    struct progress_writer writer;
    bool counts = progress_writer_of(config->sys, root->fd, &writer) &&
                  !progress_writer_is_here(root, &writer) &&
                  follow_key(root, &writer, false) == PROGRESS_KEY_SAME;
    if (counts && follow_read(follow) == GPUFL_OK && follow->moved) {
        log_info(config->log, "progress.imported", "root=%s", root->path);
    }
    return follow->moved > 0;
}

/* What the backend of the settings has is nothing to positions that are about another
 * one: it is read once that has taken the key, and those begin again. */
static bool follow_is_early(const struct root *root)
{
    const struct engine_config *config = &root->engine->config;
    bool sent = root->last_stream_id || root->parked.complete;
    return config->backend && !config->same_origin && sent && root->origin.now.url[0] &&
           origin_history_match(&root->origin, config->backend->url,
                                config->backend->key) != ORIGIN_MATCHES;
}

void progress_follow_begin(struct root *root, bool lost)
{
    struct follow follow = {.root = root};
    struct progress_writer writer;
    root->followed = follow_stamp(root);
    if (!lost) {
        (void)(!follow_is_early(root) && follow_import(&follow));
    } else if (!progress_writer_of(root->engine->config.sys, root->fd, &writer) ||
               follow_key(root, &writer, true) != PROGRESS_KEY_OTHER) {
        progress_import(root);
    }
}

static void follow_inspect(struct root *root)
{
    for (struct session *s = root->sessions; s; s = s->next) {
        session_mark(s);
    }
    root->list_soon = true;
}

bool progress_follow(struct root *root, uint64_t now_ms)
{
    struct follow follow = {.root = root, .runs = true};
    if (now_ms < root->follow_at_ms || journal_broken(root->journal)) {
        return false;
    }
    root->follow_at_ms = now_ms + FOLLOW_EVERY_MS;
    uint64_t stamp = follow_stamp(root);
    if (stamp == root->followed) {
        return false;
    }
    bool moved = follow_import(&follow);
    root->followed = follow.waits ? 0 : stamp;
    if (moved) {
        follow_inspect(root);
    }
    return moved;
}
