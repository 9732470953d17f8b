/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one turn: takes replies, inspects sessions, makes offers, sends. */
#include "upload/engine/engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "upload/core/engine_state.h"
#include "upload/core/frames.h"
#include "upload/core/offer.h"
#include "upload/core/origin_proof.h"
#include "upload/core/raw_lines.h"
#include "upload/core/room.h"
#include "upload/core/session_streams.h"
#include "upload/engine/claim_search.h"
#include "upload/engine/next_wait.h"
#include "upload/engine/origin_change.h"
#include "upload/engine/progress.h"
#include "upload/engine/reopen.h"
#include "upload/engine/replies.h"
#include "upload/engine/rewind.h"
#include "upload/engine/root.h"
#include "upload/engine/send.h"
#include "upload/engine/wakeups.h"
#include "upload/http/encode.h"
#include "upload/lifecycle/alive.h"
#include "upload/lifecycle/completion.h"
#include "upload/lifecycle/discovery.h"
#include "upload/lifecycle/inspect.h"
#include "upload/lifecycle/parking.h"
#include "upload/lifecycle/parking_grown.h"
#include "upload/owners/owners.h"
#include "upload/resolve/resolve_request.h"

#define GZIP_LEVEL       6
#define SALVAGED_AT_ONCE (1u << 20)
/* A turn looks into some hundred directories at most: what the watcher, the sockets and
 * systemd have to say does not wait for all there are. */
#define ROUNDS_A_TURN 4u

gpufl_status engine_open(const struct engine_config *config, struct engine **out)
{
    *out = NULL;
    struct engine *engine = calloc(1, sizeof *engine);
    if (!engine) {
        return GPUFL_ERR_NOMEM;
    }
    engine->config = *config;
    engine->gz.step_bytes = GZ_CACHE_STEP_BYTES;
    engine->shares.limit = config->directory_bytes;
    engine->ranges.limit = config->quarantine_ranges;
    engine->visits.ends = !config->service;
    engine->origin.config = &engine->config;
    engine->origin.trouble = &engine->trouble;
    owners_refresh(&engine->owners, config->accounts_dir, config->log,
                   config->sys->now_ms()); /* what the journal has is counted by owner */
    config->sys->random(&engine->claims.seed, sizeof engine->claims.seed);
    engine->encoder = encoder_open(config->zstd_level, GZIP_LEVEL);
    engine->frames = frames_open(2 * FRAME_BYTES_IN_FLIGHT);
    uint64_t now_ms = config->sys->now_ms();
    bucket_init(&engine->bucket, config->max_requests_per_second, now_ms);
    pace_init(&engine->origin.pace, TRANSPORT_SLOTS, now_ms);
    if (!engine->encoder || !engine->frames ||
        !raw_lines_grow(engine, config->max_batch_bytes)) {
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
        snprintf(why, 512, "more than %u directories: start a second uploader",
                 ENGINE_ROOTS_MAX);
        return GPUFL_ERR_USAGE;
    }
    struct root *root;
    gpufl_status status = root_open(engine, path, channels, &root, why);
    if (status == GPUFL_OK && engine->config.force) {
        status = rewind_root(root);
        if (status != GPUFL_OK) {
            int reason = errno;
            snprintf(why, 512, "cannot write the journal of %.300s", path);
            root_close(root);
            errno = reason;
        }
    }
    if (status == GPUFL_OK) {
        engine->root[engine->roots++] = root;
        engine->streams_done_before += root->parked.complete_streams;
        origin_change_settle(engine);
    }
    return status;
}

static void engine_make_due(struct lanes *lanes)
{
    for (unsigned i = 0; i < lanes->used; i++) {
        for (struct queue_node *n = lanes->lane[i].queue.first; n; n = n->next) {
            stream_of(n)->due_ms = 0;
        }
    }
}

void engine_flush(struct engine *engine)
{
    engine->config.flush_interval_ms = engine->config.settled_sync_ms = 0;
    for (unsigned i = 0; i < engine->roots; i++) {
        journal_want(engine->root[i]->journal);
    }
    engine_make_due(&engine->live);
    engine_make_due(&engine->backlog);
    engine_make_due(&engine->bulk);
    for (struct session *s = engine->later; s; s = s->next_later) {
        s->later_at_ms = 0;
    }
    engine->origin.not_before_ms = 0;
    for (struct offer *o = engine->offers; o; o = o->next) {
        o->retry_at_ms = 0;
    }
    engine_rescan(engine);
}

static void engine_collect_syncs(struct engine *engine)
{
    for (unsigned i = 0; i < engine->roots; i++) {
        journal_collect(engine->root[i]->journal);
    }
}

static bool engine_completion_waits(const struct root *root)
{
    const struct session *s = root->engine->completing;
    while (s && (s->root != root || !completion_waits_for_disk(s))) {
        s = s->next_completing;
    }
    return s != NULL;
}

/* Records that nobody waits for are synced with others, but not much later. */
static void engine_sync_lazy(struct root *root, uint64_t now_ms)
{
    const struct engine *engine = root->engine;
    if (!journal_is_lazy(root->journal)) {
        root->lazy_until_ms = 0;
        return;
    }
    if (!root->lazy_until_ms) {
        root->lazy_until_ms = now_ms + engine->config.settled_sync_ms;
    }
    if (now_ms >= root->lazy_until_ms || engine_completion_waits(root)) {
        journal_want(root->journal);
        root->lazy_until_ms = 0;
    }
}

/* Syncs what this turn has appended; a journal that broke is rewritten. */
static void engine_pump_journals(struct engine *engine, uint64_t now_ms)
{
    for (unsigned i = 0; i < engine->roots; i++) {
        struct root *root = engine->root[i];
        engine_sync_lazy(root, now_ms);
        journal_pump(root->journal);
        if (journal_broken(root->journal) && now_ms >= root->journal_retry_ms) {
            root->journal_retry_ms = now_ms + JOURNAL_RETRY_MS;
            journal_mend(root->journal);
        }
    }
}

static void engine_list_roots(struct engine *engine, uint64_t now_ms)
{
    for (unsigned i = 0; i < engine->roots; i++) {
        gz_cache_turn(&engine->gz, now_ms);
        discovery_step(engine->root[i], now_ms);
        parking_ask_again(engine->root[i]);
    }
    claim_search_step(engine);
}

/* Their flush interval is over: they are inspected now. */
static void engine_wake_later(struct engine *engine, uint64_t now_ms)
{
    while (engine->later && engine->later->later_at_ms <= now_ms) {
        struct session *session = engine->later;
        engine->later = session->next_later;
        session->later = false;
        session_mark(session);
        session->overdue = true;
    }
}

static void engine_complete_sessions(struct engine *engine, uint64_t now_ms)
{
    while (completion_step(engine, now_ms)) {
    }
    for (struct session **link = &engine->completing; *link;) {
        struct session *session = *link;
        if (session->state == SESSION_COMPLETING) {
            link = &session->next_completing;
        } else if (session->state == SESSION_DONE && session_queued(session)) {
            link =
                &session->next_completing; /* until its turn shows that it is drained */
        } else {
            *link = session->next_completing;
            session->in_completing = false;
            engine->completing_count--;
            if (session->state == SESSION_DONE && session_idle(session)) {
                parking_complete(session); /* otherwise after a listing */
            }
        }
    }
}

uint64_t engine_turn(struct engine *engine)
{
    uint64_t now_ms = engine->config.sys->now_ms();
    unsigned rounds = 0;
    bool again;
    engine->salvage_left = SALVAGED_AT_ONCE;
    engine->salvage_lists_many = true;
    owners_refresh(&engine->owners, engine->config.accounts_dir, engine->config.log,
                   now_ms);
    for (unsigned i = 0; i < engine->roots; i++) {
        reopen_step(engine, i, now_ms);
        root_lock_again(engine->root[i]);
        if (discovery_is_due(engine->root[i], now_ms)) {
            resolve_take_requests(engine->root[i]);
        }
        discovery_begin(engine->root[i], now_ms);
    }
    do {
        room_ranges_go_on(engine);
        again = replies_take(engine, now_ms);
        engine_collect_syncs(engine);
        engine_list_roots(engine, now_ms);
        again = parking_open_some(engine) || again;
        engine_wake_later(engine, now_ms);
        inspect_turns(engine, now_ms);
        origin_probe(&engine->origin, now_ms);
        origin_change_settle(engine);
        origin_ask_proof(&engine->origin, now_ms);
        completion_first(engine, now_ms);
        if (alive_is_late(engine, now_ms)) {
            alive_step(engine, now_ms);
        }
        send_make_offers(engine, now_ms);
        engine_pump_journals(engine, now_ms); /* inline syncs are done now */
        send_offers(engine, now_ms);
        engine_complete_sessions(engine, now_ms);
        alive_step(engine, now_ms);
    } while (again || (discovery_goes_on(engine) && ++rounds < ROUNDS_A_TURN));
    for (unsigned i = 0; i < engine->roots; i++) {
        progress_publish(engine->root[i], now_ms);
    }
    wakeups_list_again(engine);
    gz_cache_turn(&engine->gz, now_ms); /* for all that is touched before the next turn */
    return next_wait_ms(engine, now_ms);
}

enum engine_hold engine_holding(const struct engine *engine)
{
    return engine->origin.hold;
}

/* Without a budget, full batches have their turns among all others. */
static void engine_merge_bulk(struct engine *engine)
{
    for (unsigned i = 0; i < engine->bulk.used; i++) {
        for (struct queue_node *n; (n = queue_pop(&engine->bulk.lane[i].queue));) {
            lanes_push(&engine->backlog, session_lane(stream_of(n)->session), n);
        }
    }
    lanes_rewind(&engine->bulk);
}

void engine_set_pace(struct engine *engine, uint64_t flush_interval_ms,
                     unsigned max_requests_per_second)
{
    engine->config.flush_interval_ms = flush_interval_ms;
    bucket_init(&engine->bucket, max_requests_per_second, engine->config.sys->now_ms());
    if (max_requests_per_second == 0) {
        engine_merge_bulk(engine);
    }
}

const struct counters *engine_counters(const struct engine *engine)
{
    return &engine->counters;
}

void engine_take_key(struct engine *engine)
{
    origin_forget_proof(&engine->origin);
    for (unsigned i = 0; i < engine->roots; i++) {
        origin_change_key(engine->root[i]);
    }
    origin_change_settle(engine);
}

const char *engine_moves_from(const struct engine *engine)
{
    for (unsigned i = 0; i < engine->roots; i++) {
        if (engine->root[i]->backend == BACKEND_MOVED_TO) {
            return engine->root[i]->origin.now.url;
        }
    }
    return NULL;
}

void engine_tell(struct engine *engine, const char *what)
{
    trouble_tell(&engine->trouble, what);
}

void engine_retry_now(struct engine *engine)
{
    engine->origin.not_before_ms = engine->origin.rests_until_ms = 0;
}

void engine_close(struct engine *engine)
{
    if (!engine) {
        return;
    }
    for (unsigned i = 0; i < engine->roots; i++) {
        struct root *root = engine->root[i];
        progress_publish_last(root);
        root_close(root);
    }
    path_table_close(&engine->claims);
    owners_close(&engine->owners);
    shares_close(&engine->shares);
    shares_close(&engine->ranges);
    shares_close(&engine->in_turn);
    gz_cache_close(&engine->gz);
    encoder_close(engine->encoder);
    frames_close(engine->frames);
    text_fini(&engine->alive.body);
    raw_lines_close(engine);
    free(engine);
}
