/* SPDX-License-Identifier: Apache-2.0 */
/* Renders sessions and channels as JSON. */
#include "backend/api/api.h"

#include <inttypes.h>

#include "backend/api/api_about.h"
#include "backend/api/api_state.h"
#include "backend/store/store_sessions.h"
#include "backend/store/wall_clock.h"

struct session_answer {
    struct store *store;
    struct text *answer;
    unsigned count;
    int64_t id;
};

static void session_fields(struct text *a, const struct store_session *s)
{
    text_printf(a, "\"session_id\":\"%s\",\"app\":", s->session);
    text_json_string(a, s->app);
    text_printf(a, ",\"hostname\":");
    text_json_string(a, s->hostname);
    text_printf(a, ",\"session_kind\":");
    text_json_string(a, s->kind);
    text_printf(a, ",\"gpus\":");
    text_json_string(a, s->gpus);
    int64_t now_ms = wall_clock_ms();
    text_printf(a, ",\"state\":\"%s\",\"silent_since_ms\":%" PRId64, api_state(s, now_ms),
                api_silent_since_ms(s, now_ms));
    text_printf(a,
                ",\"start_ns\":%" PRId64 ",\"shutdown_ns\":%" PRId64
                ",\"first_seen_ms\":%" PRId64 ",\"last_seen_ms\":%" PRId64
                ",\"complete\":%s,\"lines\":%" PRIu64 ",\"raw_bytes\":%" PRIu64
                ",\"stored_bytes\":%" PRIu64 ",\"rejected\":%" PRIu64
                ",\"duplicates\":%" PRIu64 ",\"missing\":%" PRIu64
                ",\"verified\":%s,\"losses\":%" PRIu64 ",\"skips\":%" PRIu64,
                s->start_ns, s->shutdown_ns, s->first_seen_ms, s->last_seen_ms,
                s->complete ? "true" : "false", s->lines, s->raw_bytes, s->stored_bytes,
                s->rejected, s->duplicates, s->missing, s->verified ? "true" : "false",
                s->losses, s->skips);
}

static void render_listed(void *arg, const struct store_session *s)
{
    struct session_answer *r = arg;
    text_printf(r->answer, "%s{", r->count++ ? "," : "");
    session_fields(r->answer, s);
    text_printf(r->answer, "}");
}

int api_sessions(struct store *store, const struct query_page *page, struct text *answer)
{
    struct session_answer r = {.store = store, .answer = answer};
    text_printf(answer, "{\"sessions\":[");
    if (store_sessions(store, NULL, page->limit, page->offset, render_listed, &r) !=
        GPUFL_OK) {
        return 500;
    }
    text_printf(answer, "]}\n");
    return 200;
}

static void render_one(void *arg, const struct store_session *s)
{
    struct session_answer *r = arg;
    r->count++;
    r->id = s->id;
    text_printf(r->answer, "{");
    session_fields(r->answer, s);
    text_printf(r->answer, ",\"channels\":[");
}

static void render_channel(void *arg, const struct store_channel *c)
{
    struct session_answer *r = arg;
    text_printf(r->answer,
                "%s{\"channel\":\"%s\",\"lines\":%" PRIu64 ",\"raw_bytes\":%" PRIu64
                ",\"bodies\":%" PRIu64 ",\"first_sequence\":%u,\"last_sequence\":%u}",
                r->count++ ? "," : "", c->name, c->lines, c->raw_bytes, c->bodies,
                c->first_sequence, c->last_sequence);
}

int api_session(struct store *store, const char *session, struct text *answer)
{
    struct session_answer r = {.store = store, .answer = answer};
    if (store_sessions(store, session, 1, 0, render_one, &r) != GPUFL_OK) {
        return 500;
    }
    if (r.count == 0) {
        text_printf(answer, "{\"error\":\"not_found\",\"message\":\"no such session\"}");
        return 404;
    }
    r.count = 0;
    if (store_channels(store, r.id, render_channel, &r) != GPUFL_OK) {
        return 500;
    }
    text_printf(answer, "],");
    return api_about(store, r.id, answer);
}
