/* SPDX-License-Identifier: Apache-2.0 */
/* Lists silent sessions whose lock is held at that moment, and posts the list. */
#include "upload/lifecycle/alive.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "schema/protocol.h"
#include "upload/core/origin_proof.h"
#include "upload/core/session_streams.h"
#include "upload/lifecycle/inspect_directory.h"
#include "upload/pace/backoff.h"

/* Sessions are looked at so many times while one becomes due. */
#define LOOKS_A_PERIOD 6u
/* The request budget is used up, or all connections are: the next try. */
#define BUSY_MS 100u

/* A request is under way, or none is wanted. That batches fail does not matter: it may be
 * for what is in them. */
static bool alive_rests(const struct engine *engine)
{
    const struct origin *origin = &engine->origin;
    return engine->alive.in_flight || !origin->alive_after_ms || !origin_takes(origin);
}

bool alive_is_late(const struct engine *engine, uint64_t now_ms)
{
    return now_ms >= engine->alive.next_ms + engine->origin.alive_after_ms;
}

/* Its name is only ours to speak of if what was sent under it came from this directory.
 */
static bool alive_may_tell(const struct session *session)
{
    bool has_lock = session->layout == SESSION_LIVE || session->layout == SESSION_WINDOWS;
    return session->state == SESSION_OPEN && session->wanted && session->inspected &&
           has_lock && !session->held && session_is_listed(session) &&
           session_begun(session);
}

/* When an active file of the session last changed: seconds since 1970, 0 = not known. */
static int64_t alive_last_write_s(const struct session *session)
{
    const struct root *root = session->root;
    char path[JOURNAL_PATH_MAX + LAYOUT_PATH_MAX];
    char name[LAYOUT_PATH_MAX];
    struct stat st;
    int64_t last_s = 0;
    snprintf(path, sizeof path, "%s%s", session->path,
             session->layout == SESSION_WINDOWS ? "/" LAYOUT_TMP_DIR : "");
    int dir =
        root->engine->config.sys->open_beneath(root->fd, path, O_RDONLY | O_DIRECTORY, 0);
    for (unsigned i = 0; dir >= 0 && i < root->channels.count; i++) {
        layout_active(name, root->channels.name[i], false);
        if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            st.st_mtim.tv_sec > last_s) {
            last_s = st.st_mtim.tv_sec;
        }
    }
    if (dir >= 0) {
        close(dir);
    }
    return last_s;
}

/* By the file's time, which also an uploader knows that has just started; else by what
 * was seen. */
static uint64_t alive_silent_ms(const struct session *session, uint64_t now_ms)
{
    int64_t last_s = alive_last_write_s(session);
    int64_t now_s = session->root->engine->config.sys->wall_s();
    return last_s == 0       ? now_ms - session->last_growth_ms
           : last_s >= now_s ? 0
                             : (uint64_t)(now_s - last_s) * 1000;
}

/* Those that are due count as told whatever becomes of the request, also one that turns
 * out to have ended: the next inspection will find that. */
static unsigned alive_list_root(struct root *root, unsigned listed, uint64_t now_ms)
{
    struct alive *alive = &root->engine->alive;
    uint64_t after_ms = root->engine->origin.alive_after_ms;
    for (struct session *s = root->sessions; s && listed < PROTOCOL_MAX_ALIVE;
         s = s->next) {
        if (!alive_may_tell(s)) {
            continue;
        }
        s->heard_ms = s->heard_ms ? s->heard_ms : now_ms;
        if (now_ms - s->heard_ms < after_ms) {
            continue;
        }
        s->heard_ms = now_ms;
        if (inspect_is_locked(root, s->path)) {
            text_printf(&alive->body,
                        "%s{\"session\":\"%s\",\"silent_ms\":", listed++ ? "," : "",
                        s->id);
            text_u64(&alive->body, alive_silent_ms(s, now_ms));
            text_puts(&alive->body, "}");
        }
    }
    return listed;
}

static unsigned alive_list(struct engine *engine, uint64_t now_ms)
{
    unsigned listed = 0;
    text_clear(&engine->alive.body);
    text_puts(&engine->alive.body, "{\"sessions\":[");
    for (unsigned i = 0; i < engine->roots; i++) {
        if (!engine->root[i]->away) {
            listed = alive_list_root(engine->root[i], listed, now_ms);
        }
    }
    text_puts(&engine->alive.body, "]}");
    return engine->alive.body.failed ? 0 : listed;
}

static void alive_submit(struct engine *engine)
{
    struct alive *alive = &engine->alive;
    struct transport_request request = {.kind = TRANSPORT_ALIVE,
                                        .body = alive->body.data,
                                        .body_len = alive->body.len,
                                        .fd = -1,
                                        .tag = alive};
    if (engine->config.transport.submit(engine->config.transport.self, &request) ==
        GPUFL_OK) {
        alive->in_flight = true;
        engine->counters.requests++;
    }
}

void alive_step(struct engine *engine, uint64_t now_ms)
{
    struct alive *alive = &engine->alive;
    if (alive_rests(engine) || now_ms < alive->next_ms ||
        now_ms < engine->origin.rests_until_ms ||
        (engine->offers && !alive_is_late(engine, now_ms)) ||
        bucket_take(&engine->bucket, now_ms) > 0) {
        return;
    }
    unsigned listed = alive_list(engine, now_ms);
    if (listed > 0) {
        alive_submit(engine);
    } else {
        bucket_return(&engine->bucket);
    }
    /* If the list is full, the next one follows its answer. */
    alive->next_ms = listed == PROTOCOL_MAX_ALIVE
                         ? 0
                         : now_ms + engine->origin.alive_after_ms / LOOKS_A_PERIOD;
}

void alive_on_reply(struct engine *engine, const struct transport_reply *reply,
                    uint64_t now_ms)
{
    int status = reply->status;
    uint64_t after_ms = engine->origin.alive_after_ms;
    engine->alive.in_flight = false;
    if (status == 404 || status == 405 || status == 501) {
        engine->origin.alive_after_ms = 0; /* what it declared is of another version */
        log_info(engine->config.log, "origin.no_alive", "status=%d", status);
    } else if (status < 200 || status > 299) {
        engine->alive.next_ms = now_ms + after_ms;
        if (reply->retry_after_ms) { /* unless it takes a batch before */
            engine->origin.rests_until_ms =
                now_ms + backoff_ms(engine->config.sys, 1, after_ms, after_ms,
                                    reply->retry_after_ms);
        }
    }
}

uint64_t alive_wait_ms(const struct engine *engine, uint64_t now_ms)
{
    uint64_t rests_until_ms = engine->origin.rests_until_ms;
    uint64_t at_ms = engine->alive.next_ms;
    if (alive_rests(engine)) {
        return UINT64_MAX;
    }
    at_ms += engine->offers ? engine->origin.alive_after_ms : 0;
    at_ms = at_ms > rests_until_ms ? at_ms : rests_until_ms;
    return at_ms > now_ms ? at_ms - now_ms : BUSY_MS;
}
