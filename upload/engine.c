/* SPDX-License-Identifier: Apache-2.0 */
/* One turn: take replies, look, offer, send. */
#include "upload/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/protocol.h"
#include "upload/engine_internal.h"
#include "upload/progress.h"

#define FLUSH_INTERVAL_MS   500u
#define REQUESTS_PER_SECOND 50u
#define RESCAN_INTERVAL_MS  10000u
#define JOURNAL_BYTES       (512u << 10)
#define ZSTD_LEVEL          1
#define GZIP_LEVEL          6

void engine_config_default(struct engine_config *config)
{
    *config = (struct engine_config){
        .sys = &sys_real,
        .syncer = syncer_inline(&sys_real),
        .flush_interval_ms = FLUSH_INTERVAL_MS,
        .max_requests_per_second = REQUESTS_PER_SECOND,
        .max_batch_bytes = PROTOCOL_MAX_BATCH_BYTES,
        .max_batch_lines = PROTOCOL_MAX_LINES,
        .zstd_level = ZSTD_LEVEL,
        .rescan_interval_ms = RESCAN_INTERVAL_MS,
        .journal_bytes = JOURNAL_BYTES,
        .program = "gpufl",
    };
}

gpufl_status engine_open(const struct engine_config *config, struct engine **out)
{
    *out = NULL;
    struct engine *engine = calloc(1, sizeof *engine);
    if (!engine) {
        return GPUFL_ERR_NOMEM;
    }
    engine->config = *config;
    engine->encoder = encoder_open(config->zstd_level, GZIP_LEVEL);
    engine->raw = malloc(config->max_batch_bytes + 1);
    engine->raw_cap = config->max_batch_bytes;
    engine->live.last = &engine->live.first;
    engine->backlog.last = &engine->backlog.first;
    bucket_init(&engine->bucket, config->max_requests_per_second, config->sys->now_ms());
    if (!engine->encoder || !engine->raw) {
        engine_close(engine);
        return GPUFL_ERR_NOMEM;
    }
    *out = engine;
    return GPUFL_OK;
}

gpufl_status engine_add_root(struct engine *engine, const char *path,
                             const struct engine_channels *channels, char why[512])
{
    if (engine->roots == ENGINE_ROOTS_MAX) {
        snprintf(why, 512, "more than %u directories; start a second agent",
                 ENGINE_ROOTS_MAX);
        return GPUFL_ERR_USAGE;
    }
    struct root *root;
    gpufl_status status = root_open(engine, path, channels, &root, why);
    if (status == GPUFL_OK) {
        engine->root[engine->roots++] = root;
        for (const struct session *s = root->sessions; s; s = s->next) {
            if (s->state == SESSION_DONE && s->wanted) {
                engine->total.streams_done_before += s->streams;
            }
        }
        root_scan(root);
        root->rescan_at_ms =
            engine->config.sys->now_ms() + engine->config.rescan_interval_ms;
    }
    return status;
}

void engine_touch(struct engine *engine, unsigned root, const char *session_path)
{
    if (root >= engine->roots) {
        return;
    }
    struct session *session =
        session_path ? root_session(engine->root[root], session_path, false) : NULL;
    if (session) {
        session_mark(session);
    } else {
        engine->root[root]->rescan_at_ms = 0;
    }
}

void engine_rescan(struct engine *engine)
{
    for (unsigned i = 0; i < engine->roots; i++) {
        engine->root[i]->rescan_at_ms = 0;
    }
}

static void make_due(struct queue *queue)
{
    for (struct stream *st = queue->first; st; st = st->next) {
        st->due_ms = 0;
    }
}

void engine_flush(struct engine *engine)
{
    engine->config.flush_interval_ms = 0;
    make_due(&engine->live);
    make_due(&engine->backlog);
    engine->origin.not_before_ms = 0;
    for (struct offer *o = engine->offers; o; o = o->next) {
        o->retry_at_ms = 0;
    }
    engine_rescan(engine);
}

/* ---- a turn ---- */

static bool is_offer(const struct engine *engine, const void *tag)
{
    for (const struct offer *o = engine->offers; o; o = o->next) {
        if (o == tag) {
            return true;
        }
    }
    return false;
}

static bool take_replies(struct engine *engine, uint64_t now_ms)
{
    struct transport_reply reply;
    bool any = false;
    while (engine->config.transport.next(engine->config.transport.self, &reply)) {
        any = true;
        engine->origin.in_flight--;
        if (reply.tag == &engine->origin) {
            origin_on_probe(engine, &reply, now_ms);
        } else if (is_offer(engine, reply.tag)) {
            settle_reply(reply.tag, &reply, now_ms);
        } else {
            session_on_complete_reply(reply.tag, &reply, now_ms);
        }
    }
    return any;
}

static void collect_syncs(struct engine *engine)
{
    for (unsigned i = 0; i < engine->roots; i++) {
        journal_collect(engine->root[i]->journal);
    }
}

/* What this turn has appended goes to the disk; a journal that broke is written anew. */
static void pump_journals(struct engine *engine, uint64_t now_ms)
{
    for (unsigned i = 0; i < engine->roots; i++) {
        struct root *root = engine->root[i];
        journal_pump(root->journal);
        if (journal_broken(root->journal) && now_ms >= root->journal_retry_ms) {
            root->journal_retry_ms = now_ms + JOURNAL_RETRY_MS;
            journal_mend(root->journal);
        }
    }
}

static void look_at_dirty(struct engine *engine, uint64_t now_ms)
{
    while (engine->dirty) {
        struct session *session = engine->dirty;
        engine->dirty = session->next_dirty;
        session->dirty = false;
        session_look(session, now_ms);
    }
}

static void complete_sessions(struct engine *engine, uint64_t now_ms)
{
    for (unsigned i = 0; i < engine->roots && engine->completing; i++) {
        for (struct session *s = engine->root[i]->sessions; s; s = s->next) {
            session_complete_step(s, now_ms);
        }
    }
}

static void earliest(uint64_t *wait_ms, uint64_t at_ms, uint64_t now_ms)
{
    uint64_t wait = at_ms > now_ms ? at_ms - now_ms : 0;
    if (wait < *wait_ms) {
        *wait_ms = wait;
    }
}

static void wait_for_queue(const struct queue *queue, uint64_t *wait_ms, uint64_t now_ms)
{
    for (const struct stream *st = queue->first; st; st = st->next) {
        if (st->offer || journal_broken(st->session->root->journal)) {
            continue;
        }
        uint64_t at = st->due_ms > st->session->hold_until_ms
                          ? st->due_ms
                          : st->session->hold_until_ms;
        earliest(wait_ms, at, now_ms);
    }
}

/* When an offer that waits may go: its own time, its session's, the origin's, the
 * bucket's. */
static void wait_for_offers(struct engine *engine, uint64_t *wait_ms, uint64_t now_ms)
{
    for (const struct offer *o = engine->offers; o; o = o->next) {
        if (o->state == OFFER_WAITING && !stream_held(o->stream) &&
            !journal_broken(o->stream->session->root->journal)) {
            uint64_t hold = o->stream->session->hold_until_ms;
            earliest(wait_ms, o->retry_at_ms > hold ? o->retry_at_ms : hold, now_ms);
        }
    }
}

static bool all_durable(const struct root *root)
{
    return !journal_broken(root->journal) &&
           journal_durable(root->journal) == journal_last(root->journal);
}

static void wait_for_completion(struct engine *engine, uint64_t *wait_ms, uint64_t now_ms)
{
    for (unsigned i = 0; i < engine->roots && engine->completing; i++) {
        if (!all_durable(engine->root[i])) {
            continue; /* the sync's end wakes us */
        }
        for (struct session *s = engine->root[i]->sessions; s; s = s->next) {
            if (s->state == SESSION_COMPLETING && !s->complete_in_flight) {
                earliest(wait_ms, s->complete_at_ms, now_ms);
            }
        }
    }
}

static uint64_t next_wait(struct engine *engine, uint64_t now_ms)
{
    struct origin *origin = &engine->origin;
    uint64_t sending = ENGINE_FOREVER;
    uint64_t wait = ENGINE_FOREVER;
    if (engine->made_bytes) {
        return 0; /* a frame was made: there may be room for the next */
    }
    if (origin->state == ORIGIN_UNASKED) {
        sending = 0;
    } else if (origin->state == ORIGIN_KNOWN &&
               origin->in_flight < (origin_probing(engine) ? 1 : TRANSPORT_SLOTS)) {
        wait_for_offers(engine, &sending, now_ms);
        if (offers_have_room(engine, now_ms)) {
            wait_for_queue(&engine->live, &sending, now_ms);
            wait_for_queue(&engine->backlog, &sending, now_ms);
        }
        wait_for_completion(engine, &sending, now_ms);
    }
    if (sending != ENGINE_FOREVER) {
        uint64_t floor =
            origin->not_before_ms > now_ms ? origin->not_before_ms - now_ms : 0;
        uint64_t tokens = bucket_wait(&engine->bucket, now_ms);
        floor = floor > tokens ? floor : tokens;
        wait = sending > floor ? sending : floor;
        wait = wait ? wait
                    : 1; /* what could go has gone: something else must happen first */
    }
    for (unsigned i = 0; i < engine->roots; i++) {
        struct root *root = engine->root[i];
        earliest(&wait, root->rescan_at_ms, now_ms);
        if (root->progress_ticket != journal_last(root->journal) && all_durable(root)) {
            earliest(&wait, root->progress_at_ms, now_ms);
        }
        if (journal_broken(root->journal)) {
            earliest(&wait, root->journal_retry_ms, now_ms);
        }
    }
    return wait;
}

static void rescan_due(struct engine *engine, uint64_t now_ms)
{
    for (unsigned i = 0; i < engine->roots; i++) {
        struct root *root = engine->root[i];
        if (now_ms >= root->rescan_at_ms) {
            root_scan(root);
            root->rescan_at_ms = now_ms + engine->config.rescan_interval_ms;
        }
    }
}

uint64_t engine_turn(struct engine *engine)
{
    uint64_t now_ms = engine->config.sys->now_ms();
    bool again;
    rescan_due(engine, now_ms);
    do {
        again = take_replies(engine, now_ms);
        collect_syncs(engine);
        look_at_dirty(engine, now_ms);
        origin_probe(engine, now_ms);
        offers_make(engine, now_ms);
        pump_journals(engine, now_ms); /* inline syncs are done now */
        offers_send(engine, now_ms);
        complete_sessions(engine, now_ms);
        again = again || engine->dirty;
    } while (again);
    for (unsigned i = 0; i < engine->roots; i++) {
        progress_publish(engine->root[i], now_ms);
    }
    return next_wait(engine, now_ms);
}

enum engine_hold engine_holding(const struct engine *engine)
{
    return engine->origin.hold;
}

void engine_retry_now(struct engine *engine)
{
    engine->origin.not_before_ms = 0;
}

void engine_set_rescan_interval(struct engine *engine, uint64_t interval_ms)
{
    if (engine->config.rescan_interval_ms != interval_ms) {
        engine->config.rescan_interval_ms = interval_ms;
        engine_rescan(engine);
    }
}

void engine_close(struct engine *engine)
{
    if (!engine) {
        return;
    }
    for (unsigned i = 0; i < engine->roots; i++) {
        struct root *root = engine->root[i];
        journal_pump(root->journal);
        root->progress_at_ms = 0;
        progress_publish(root, engine->config.sys->now_ms());
        root_close(root);
    }
    gz_cache_close(&engine->gz);
    encoder_close(engine->encoder);
    free(engine->raw);
    free(engine);
}
