/* SPDX-License-Identifier: Apache-2.0 */
/* Tells the backend of the journal from that of the settings, and begins again. */
#include "upload/engine/origin_change.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "upload/core/offer.h"
#include "upload/core/position.h"
#include "upload/core/ranges.h"
#include "upload/core/session_streams.h"
#include "upload/engine/progress_follow.h"
#include "upload/http/origin_identity.h"
#include "upload/lifecycle/end_parting.h"
#include "upload/lifecycle/end_proof.h"
#include "upload/lifecycle/parking.h"
#include "upload/published/progress_file.h"

_Static_assert(ORIGIN_URL_MAX == JOURNAL_URL_MAX && SHA256_BYTES == JOURNAL_KEY_HASH,
               "the journal has room for an identity");

static const struct origin_identity *change_wanted(const struct root *root)
{
    return root->engine->config.backend;
}

static enum origin_match change_match(const struct root *root)
{
    return origin_history_match(&root->origin, change_wanted(root)->url,
                                change_wanted(root)->key);
}

static bool change_nothing_sent(const struct root *root)
{
    return root->last_stream_id == 0 && root->parked.complete == 0;
}

/* One that knows positions is asked what it has. */
#define CHANGE_SENDS "everything but what it says it has is sent to it"

static void change_say_moved(const struct root *root, enum origin_match match)
{
    const struct engine_config *config = &root->engine->config;
    const char *what = match == ORIGIN_OTHER_KEY ? "another API key" : "another backend";
    char then[160] = "; what was sent to that one is not sent again";
    if (!config->same_origin) {
        snprintf(then, sizeof then,
                 ": once it has taken the key, " CHANGE_SENDS
                 "; if it is the same one, give %s once",
                 config->same_origin_name);
    }
    log_warn(config->log, config->same_origin ? "origin.same" : "origin.changed",
             "root=%s host=%s was=%s note=\"%s than the journal was kept for%s\"",
             root->path, change_wanted(root)->url, root->origin.now.url, what, then);
}

static void change_compare(struct root *root)
{
    const struct engine_config *config = &root->engine->config;
    root->backend = BACKEND_NOTED;
    root->origin_same = config->same_origin;
    enum origin_match match = config->backend ? change_match(root) : ORIGIN_MATCHES;
    if (match == ORIGIN_MATCHES) {
        return;
    }
    root->backend = change_nothing_sent(root) ? BACKEND_UNNOTED : BACKEND_ASKED;
    if (root->backend == BACKEND_UNNOTED) {
        return;
    }
    if (match == ORIGIN_NOT_NOTED) {
        if (!journal_named_no_origin(root->journal)) {
            return; /* what was sent is known from a progress file alone */
        }
        log_info(config->log, "origin.adopted",
                 "root=%s host=%s note=\"the journal does not say which backend it was "
                 "kept for: taken for this one\"",
                 root->path, config->backend->url);
        return;
    }
    if (match != ORIGIN_OTHER_KEY || config->same_origin) { /* a wrong one is refused */
        change_say_moved(root, match);
    }
    root->backend = config->same_origin ? BACKEND_ASKED : BACKEND_MOVED_TO;
}

/* Behind the same URL, with the same key. */
static void change_compare_database(struct root *root)
{
    const struct engine_config *config = &root->engine->config;
    uint64_t database = root->engine->origin.database;
    bool compared = config->backend && database && root->backend != BACKEND_MOVED_TO &&
                    root->origin.now.database != database;
    bool noted = root->backend == BACKEND_NOTED;
    if (!compared || (config->same_origin && !noted && root->origin_same)) {
        return;
    }
    if (!root->origin.now.database || change_nothing_sent(root)) {
        root->origin_same = root->origin_same || noted;
        root->backend = !noted                      ? root->backend
                        : change_nothing_sent(root) ? BACKEND_UNNOTED
                                                    : BACKEND_ASKED;
        return;
    }
    log_warn(config->log, config->same_origin ? "origin.same" : "origin.changed",
             "root=%s host=%s note=\"another database than the journal was kept for%s\"",
             root->path, change_wanted(root)->url,
             config->same_origin ? "; what was sent to that one is not sent again"
                                 : ": " CHANGE_SENDS);
    root->backend = config->same_origin ? BACKEND_UNNOTED : BACKEND_MOVED_TO;
    root->origin_same = config->same_origin;
}

/* One that was left lacks what was sent since, and may have been told that it has all. */
static bool change_was_left(const struct root *root)
{
    const struct origin_identity *wanted = change_wanted(root);
    return root->engine->config.same_origin && wanted && !change_nothing_sent(root) &&
           change_match(root) != ORIGIN_MATCHES &&
           origin_history_was_left(&root->origin, wanted->url, wanted->key);
}

/* Without a journal, positions are those of the progress file. */
static void change_take_database(struct root *root)
{
    const struct engine_config *config = &root->engine->config;
    if (config->backend && !root->origin.now.url[0] && !change_nothing_sent(root)) {
        root->origin.now.database =
            progress_database(config->sys, root->fd, config->backend->url);
    }
}

gpufl_status origin_change_open(struct root *root, char why[512])
{
    if (change_was_left(root)) {
        snprintf(why, 512, ORIGIN_WAS_LEFT, root->engine->config.same_origin_name,
                 change_wanted(root)->url, root->path, root->origin.now.url);
        return GPUFL_ERR_USAGE;
    }
    change_take_database(root);
    change_compare(root);
    return GPUFL_OK;
}

void origin_change_key(struct root *root)
{
    if (root->backend == BACKEND_MOVED_TO) {
        change_compare(root); /* perhaps it is the one from before after all */
        if (root->backend != BACKEND_MOVED_TO) {
            log_info(root->engine->config.log, "origin.unchanged",
                     "root=%s note=\"the key is the one from before: nothing is sent "
                     "again\"",
                     root->path);
        }
    } else {
        root->origin_same = root->origin_same || root->backend == BACKEND_NOTED;
        root->backend = !change_wanted(root)        ? BACKEND_NOTED
                        : change_nothing_sent(root) ? BACKEND_UNNOTED
                                                    : BACKEND_ASKED;
    }
}

/* Behind the same URL a stream keeps the kind of identity that it began with. */
static void change_begin_stream(const struct root *root, struct stream *st, bool same_url)
{
    bool positions = same_url && st->positions;
    if (st->offer) {
        offer_return(root->engine, st->offer);
    }
    end_proof_drop(st);
    end_parting_drop(st);
    position_again(st);
    st->positions = st->unproved = positions;
    st->voided = st->checked = false;
    st->asked_for = HELD_NOT;
    st->seek_at_ms = st->seen = 0;
    st->split_lines = 0;
    st->held = st->all_read = false;
    if (st->channel < root->channels.count) {
        st->rest = STREAM_PENDING;
        st->at_shutdown = false;
    }
}

/* All that was ever sent is to be sent. Ranges in quarantine are offered again, too, and
 * files that were given up are sent if they are there. */
static void change_begin(struct root *root, bool same_url)
{
    ranges_clear(root);
    root->passes = 0;
    parking_open_all(root);
    for (struct session *s = root->sessions; s; s = s->next) {
        s->state = SESSION_OPEN;
        s->quarantined = 0;
        s->held = false;
        for (unsigned i = 0; i < s->streams; i++) {
            change_begin_stream(root, s->stream[i], same_url);
        }
    }
}

static struct record_origin change_record(const struct root *root)
{
    const struct origin_identity *identity = change_wanted(root);
    unsigned char salt[JOURNAL_SALT];
    bool moves = root->backend == BACKEND_MOVED_TO;
    struct record_origin record = {.again = moves,
                                   .moved = root->origin.now.moved || moves,
                                   .same = root->origin_same && !moves,
                                   .database = root->engine->origin.database};
    snprintf(record.url, sizeof record.url, "%s", identity->url);
    root->engine->config.sys->random(salt, sizeof salt);
    origin_history_name(&root->origin, &record, identity->key, salt);
    return record;
}

/* The journal was kept for it until now. */
static bool change_has_url(const struct root *root, const struct record_origin *record)
{
    return strcmp(root->origin.now.url, record->url) == 0;
}

/* An earlier journal may have been lost; a progress file may be older than it was.
 * Positions, or a registry of identities that did not come from it, would tell what was
 * stored. A process that was killed before it noted a backend may have made this journal
 * without saying so. */
static void change_say_new(struct root *root)
{
    const struct engine *engine = root->engine;
    bool is_new = !root->origin.now.url[0] && (root->backend == BACKEND_UNNOTED ||
                                               !journal_named_no_origin(root->journal));
    if (is_new && !root->said_new && engine->origin.state == ORIGIN_KNOWN &&
        !engine->origin.positions && root->by_path.count) {
        root->said_new = true;
        log_warn(
            engine->config.log, "journal.new",
            "root=%s sessions=%u note=\"nothing is known of what was sent of them "
            "before: what was is sent again, unless a progress file tells it, as the "
            "backend declares no positions that can be used\"",
            root->path, root->by_path.count);
    }
}

static void change_proved(struct root *root)
{
    struct engine *engine = root->engine;
    bool moves = root->backend == BACKEND_MOVED_TO;
    if (root->backend == BACKEND_NOTED || (moves && engine->origin.in_flight)) {
        return;
    }
    struct record_origin record = change_record(root);
    if (!record_append_origin(root->journal, &record)) {
        return; /* the journal is broken, and so nothing is sent: at the next turn */
    }
    bool same_url = change_has_url(root, &record);
    if (moves && change_match(root) == ORIGIN_OTHER_KEY) {
        change_say_moved(root, ORIGIN_OTHER_KEY);
    }
    origin_history_note(&root->origin, &record);
    root->backend = BACKEND_NOTED;
    root->origin_same = false;
    if (moves) {
        engine->streams_done_before -= root->parked.complete_streams;
        log_warn(engine->config.log, "origin.begins", "root=%s host=%s sessions=%u",
                 root->path, record.url, root->by_path.count + root->parked.complete);
        change_begin(root, same_url);
        for (struct session *s = root->sessions; s; s = s->next) {
            session_mark(s); /* not in a replay: a later record may drop the session */
        }
        root->inspect_all = root->list_soon = true;
        root->followed = root->follow_at_ms = 0;
        (void)progress_follow(root, engine->config.sys->now_ms()); /* others may have */
    }
}

void origin_change_settle(struct engine *engine)
{
    engine->origin.wants_proof = false;
    for (unsigned i = 0; i < engine->roots; i++) {
        struct root *root = engine->root[i];
        change_compare_database(root);
        change_say_new(root);
        if (engine->origin.proved) {
            change_proved(root);
        }
        engine->origin.wants_proof |= root->backend >= BACKEND_ASKED;
    }
}

bool origin_change_is_unknown(const struct root *root)
{
    return root->backend >= BACKEND_ASKED ||
           (change_wanted(root) && root->engine->origin.state != ORIGIN_KNOWN &&
            !change_nothing_sent(root));
}

void origin_change_replay(struct root *root, const struct record_origin *record)
{
    bool same_url = change_has_url(root, record);
    origin_history_note(&root->origin, record);
    if (record->again) {
        change_begin(root, same_url);
    }
}

void origin_change_write_state(const struct root *root)
{
    origin_history_write(&root->origin, root->journal);
}
