/* SPDX-License-Identifier: Apache-2.0 */
/* Tells the backend of the journal from that of the settings, and begins again. */
#include "upload/engine/origin_change.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "upload/core/offer.h"
#include "upload/core/position.h"
#include "upload/core/session_streams.h"
#include "upload/http/origin_identity.h"
#include "upload/lifecycle/parking.h"

_Static_assert(ORIGIN_URL_MAX == JOURNAL_URL_MAX && SHA256_BYTES == JOURNAL_KEY_HASH,
               "the journal has room for an identity");

static const struct origin_identity *change_wanted(const struct root *root)
{
    return root->engine->config.backend;
}

static void change_hash(const unsigned char salt[JOURNAL_SALT],
                        const struct origin_identity *identity,
                        unsigned char out[JOURNAL_KEY_HASH])
{
    struct sha256_part part[] = {{salt, JOURNAL_SALT},
                                 {identity->key, sizeof identity->key}};
    sha256(part, 2, out);
}

static bool change_same_key(const struct root *root)
{
    unsigned char hash[JOURNAL_KEY_HASH];
    change_hash(root->origin.salt, change_wanted(root), hash);
    return memcmp(hash, root->origin.key, sizeof hash) == 0;
}

static bool change_nothing_sent(const struct root *root)
{
    return root->last_stream_id == 0 && root->parked.complete == 0;
}

static void change_say_moved(const struct root *root, bool same_url)
{
    const struct engine_config *config = &root->engine->config;
    const char *what = same_url ? "another API key" : "another backend";
    log_warn(config->log, config->same_origin ? "origin.same" : "origin.changed",
             "root=%s host=%s was=%s note=\"%s than the journal was kept for%s\"",
             root->path, change_wanted(root)->url, root->origin.url, what,
             config->same_origin
                 ? "; what was sent to that one is not sent again"
                 : ": once it takes the key everything is sent to it; if it is the same "
                   "one, stop and start once with --same-origin");
}

void origin_change_compare(struct root *root)
{
    const struct engine_config *config = &root->engine->config;
    root->origin_moves = root->origin_unnoted = root->origin_asks = false;
    if (!config->backend) {
        return;
    }
    bool same_url = strcmp(root->origin.url, config->backend->url) == 0;
    if (same_url && change_same_key(root)) {
        return;
    }
    root->origin_unnoted = true;
    if (change_nothing_sent(root)) {
        return;
    }
    root->origin_asks = true;
    if (!root->origin.url[0]) {
        log_info(config->log, "origin.adopted",
                 "root=%s host=%s note=\"the journal does not say which backend it was "
                 "kept for: taken for this one\"",
                 root->path, config->backend->url);
        return;
    }
    change_say_moved(root, same_url);
    root->origin_moves = !config->same_origin;
}

void origin_change_key(struct root *root)
{
    if (root->origin_moves) {
        origin_change_compare(root); /* perhaps it is the one from before after all */
    } else {
        root->origin_unnoted = change_wanted(root) != NULL;
        root->origin_asks = root->origin_unnoted && !change_nothing_sent(root);
    }
}

static void change_begin_stream(const struct root *root, struct stream *st)
{
    if (st->offer) {
        offer_free(root->engine, st->offer);
    }
    position_again(st);
    st->seen = 0;
    st->split_lines = 0;
    st->held = st->all_read = false;
    if (st->channel < root->channels.count) {
        st->rest = STREAM_PENDING;
        st->at_shutdown = false;
    }
}

/* All that was ever sent is to be sent. Ranges in quarantine are offered again, too. */
static void change_begin(struct root *root)
{
    root->quarantines = 0;
    parking_open_all(root);
    for (struct session *s = root->sessions; s; s = s->next) {
        s->state = SESSION_OPEN;
        s->quarantined = 0;
        s->held = false;
        for (unsigned i = 0; i < s->streams; i++) {
            change_begin_stream(root, s->stream[i]);
        }
    }
}

static struct record_origin change_record(const struct root *root)
{
    const struct origin_identity *identity = change_wanted(root);
    struct record_origin record = {.again = root->origin_moves,
                                   .moved = root->origin.moved || root->origin_moves};
    snprintf(record.url, sizeof record.url, "%s", identity->url);
    root->engine->config.sys->random(record.salt, sizeof record.salt);
    change_hash(record.salt, identity, record.key);
    return record;
}

void origin_change_proved(struct root *root)
{
    struct engine *engine = root->engine;
    if (!root->origin_unnoted) {
        return;
    }
    struct record_origin record = change_record(root);
    if (!record_append_origin(root->journal, &record)) {
        return; /* the journal is broken, and so nothing is sent: at the next turn */
    }
    root->origin = record;
    root->origin_unnoted = root->origin_asks = false;
    if (root->origin_moves) {
        root->origin_moves = false;
        engine->streams_done_before -= root->parked.complete_streams;
        log_warn(engine->config.log, "origin.begins", "root=%s host=%s sessions=%u",
                 root->path, record.url, root->by_path.count + root->parked.complete);
        change_begin(root);
        for (struct session *s = root->sessions; s; s = s->next) {
            session_mark(s); /* not in a replay: a later record may drop the session */
        }
        root->inspect_all = root->list_soon = true;
    }
}

void origin_change_replay(struct root *root, const struct record_origin *record)
{
    root->origin = *record;
    if (record->again) {
        change_begin(root);
    }
}

void origin_change_write_state(const struct root *root)
{
    struct record_origin record = root->origin;
    record.again = 0;
    if (record.url[0]) {
        record_append_origin(root->journal, &record);
    }
}
