/* SPDX-License-Identifier: Apache-2.0 */
/* The backend in memory and the clock. */
#include "tests/support/rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/dirs.h"
#include "tests/support/disk.h"

#include "backend/decode.h"
#include "schema/channels.h"
#include "schema/protocol.h"

static uint64_t clock_ms = 1000000;
static struct sys rig_sys;

uint64_t rig_now_ms(void)
{
    return clock_ms;
}

void rig_advance_ms(uint64_t ms)
{
    clock_ms += ms;
}

static int64_t wall_step_s;

void rig_step_wall_s(int64_t s)
{
    wall_step_s += s;
}

static int64_t rig_wall_s(void)
{
    return sys_real.wall_s() + wall_step_s;
}

/* ---- the backend ---- */

static struct rig_request *stored_with(struct rig *rig, const struct rig_request *like,
                                       bool by_id)
{
    for (unsigned i = 0; i < rig->requests; i++) {
        struct rig_request *r = &rig->request[i];
        if (r == like || r->kind != TRANSPORT_BATCH || r->status != 200 || !r->raw) {
            continue;
        }
        bool same = by_id ? strcmp(r->id, like->id) == 0
                          : strcmp(r->session, like->session) == 0 &&
                                strcmp(r->channel, like->channel) == 0 &&
                                r->sequence == like->sequence;
        if (same) {
            return r;
        }
    }
    return NULL;
}

/* The registry's rule: the id is looked up before anything else. */
static int registry(struct rig *rig, struct rig_request *r)
{
    if (r->kind != TRANSPORT_BATCH) {
        return 200;
    }
    const struct rig_request *known = stored_with(rig, r, true);
    if (known) {
        free(r->raw); /* stored once */
        r->raw = NULL;
        return known->crc32 == r->crc32 ? 200 : 409;
    }
    return stored_with(rig, r, false) ? 409 : 200;
}

bool rig_knows(struct rig *rig, const struct rig_request *request)
{
    return stored_with(rig, request, true) != NULL;
}

static unsigned count_lines(const char *raw, size_t len)
{
    unsigned lines = 0;
    for (size_t i = 0; i < len; i++) {
        lines += raw[i] == '\n';
    }
    return lines;
}

static void copy(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%s", text ? text : "");
}

static gpufl_status submit(void *self, const struct transport_request *request)
{
    struct rig *rig = self;
    assert_true(rig->requests < RIG_REQUESTS_MAX);
    struct rig_request *r = &rig->request[rig->requests];
    *r = (struct rig_request){.kind = request->kind,
                              .window_headers = request->window_headers,
                              .sequence = request->sequence,
                              .crc32 = request->crc32,
                              .at_ms = clock_ms};
    copy(r->session, sizeof r->session, request->session);
    copy(r->channel, sizeof r->channel, request->channel);
    copy(r->id, sizeof r->id, request->window_id);
    copy(r->encoding, sizeof r->encoding, request->encoding);
    if (request->body) {
        assert_int_equal(decode_body(encoding_of(request->encoding), request->body,
                                     request->body_len, 64u << 20, &r->raw, &r->raw_len),
                         GPUFL_OK);
        r->raw = realloc(r->raw, r->raw_len + 1);
        r->raw[r->raw_len] = '\0';
        r->lines = count_lines(r->raw, r->raw_len);
    }
    rig->tag[rig->requests] = request->tag;
    int status = rig->answer ? rig->answer(rig, r) : RIG_REGISTRY;
    rig->lost[rig->requests] = status == RIG_LOST;
    rig->requests++;
    if (status == RIG_REGISTRY || status == RIG_LOST) {
        r->status = registry(rig, r);
    } else {
        r->status = status;
        if (status != 200) {
            free(r->raw);
            r->raw = NULL;
        }
    }
    return GPUFL_OK;
}

static bool next(void *self, struct transport_reply *reply)
{
    struct rig *rig = self;
    if (rig->silent || rig->answered == rig->requests) {
        return false;
    }
    unsigned at = rig->answered++;
    const struct rig_request *r = &rig->request[at];
    *reply = (struct transport_reply){.tag = rig->tag[at], .body = ""};
    if (rig->lost[at] || r->status == 0) {
        reply->maybe_received = rig->lost[at];
        copy(reply->error, sizeof reply->error, "the test lost it");
        return true;
    }
    reply->status = r->status;
    reply->retry_after_ms = rig->retry_after_ms;
    reply->took_ms = rig->took_ms;
    if (r->kind == TRANSPORT_PROBE) {
        reply->status = *rig->version_body ? 200 : 404;
        reply->body = rig->version_body;
    } else if (r->status == 200) {
        reply->body = "{\"window_acknowledged\":true}";
    } else if (rig->reply_body) {
        reply->body = rig->reply_body;
    } else if (r->status == 409) {
        reply->body = stored_with(rig, r, true) ? PROTOCOL_IDENTITY_CONFLICT
                                                : PROTOCOL_SEQUENCE_CONFLICT;
    }
    reply->body_len = strlen(reply->body);
    return true;
}

static void no_poll(void *self, uint64_t timeout_ms, int fd)
{
    (void)self;
    (void)timeout_ms;
    (void)fd;
}

static void no_wakeup(void *self)
{
    (void)self;
}

/* ---- syncs that take their time ---- */

static void finish_sync(void *self, struct sync_job *job)
{
    struct rig *rig = self;
    if (rig->sync == job) {
        struct syncer now = syncer_inline(&rig_sys);
        rig->sync = NULL;
        now.start(now.self, job);
    }
}

static void start_sync(void *self, struct sync_job *job)
{
    struct rig *rig = self;
    assert_null(rig->sync);
    rig->sync = job;
    rig->sync_done_ms = clock_ms + rig->sync_ms;
    if (!rig->sync_ms) {
        finish_sync(rig, job);
    }
}

/* ---- the engine ---- */

void rig_open(struct rig *rig)
{
    clock_ms = 1000000;
    memset(rig, 0, sizeof *rig);
    rig_sys = disk_sys;
    rig_sys.now_ms = rig_now_ms;
    rig_sys.wall_s = rig_wall_s;
    rig->root = dirs_make();
    disk_open(rig->root);
    rig->version_body = "{\"supported\":[\"1\"],\"encodings\":[\"zstd\",\"gzip\"],"
                        "\"live_windows\":true,\"window_registry\":true}";
    engine_config_default(&rig->config);
    static const struct log loud = {.level = LOG_AT_DEBUG, .write = log_to_stderr};
    rig->config.log = getenv("RIG_LOG") ? &loud : NULL; /* RIG_LOG=1 shows what it does */
    rig->config.sys = &rig_sys;
    rig->config.syncer =
        (struct syncer){.start = start_sync, .finish = finish_sync, .self = rig};
    rig->config.transport = (struct transport){.submit = submit,
                                               .next = next,
                                               .poll = no_poll,
                                               .wakeup = no_wakeup,
                                               .self = rig};
    rig->channels = (struct engine_channels){{CHANNEL_NAMES}, CHANNEL_COUNT};
}

void rig_start(struct rig *rig)
{
    char why[512];
    rig->config.transport.self = rig;
    for (;;) {
        assert_int_equal(engine_open(&rig->config, &rig->engine), GPUFL_OK);
        if (engine_add_root(rig->engine, rig->root, &rig->channels, why) == GPUFL_OK) {
            return;
        }
        if (!disk_fault_percent()) {
            fail_msg("the engine does not start: %s", why);
        }
        engine_close(rig->engine); /* a supervisor starts it again */
        disk_faults(disk_fault_percent() / 2);
    }
}

void rig_stop(struct rig *rig)
{
    engine_close(rig->engine);
    rig->engine = NULL;
    rig->answered = rig->requests; /* replies to a process that is gone */
}

void rig_close(struct rig *rig)
{
    engine_close(rig->engine);
    for (unsigned i = 0; i < rig->requests; i++) {
        free(rig->request[i].raw);
    }
    disk_close();
    dirs_remove(rig->root);
}

void rig_run(struct rig *rig, uint64_t ms, bool until_drained)
{
    uint64_t end = clock_ms + ms;
    for (;;) {
        uint64_t wait = engine_turn(rig->engine);
        rig->loops++;
        if (clock_ms >= end || (until_drained && engine_drained(rig->engine))) {
            return;
        }
        bool reply = rig->answered < rig->requests && !rig->silent;
        wait = wait && !reply ? wait : 1; /* a reply wakes */
        if (rig->sync) {
            uint64_t left =
                rig->sync_done_ms > clock_ms ? rig->sync_done_ms - clock_ms : 0;
            wait = wait < left ? wait : left;
        }
        clock_ms += wait < end - clock_ms ? wait : end - clock_ms;
        if (rig->sync && clock_ms >= rig->sync_done_ms) {
            finish_sync(rig, rig->sync);
        }
    }
}

char *rig_stored(struct rig *rig, const char *session, const char *channel)
{
    size_t len = 0;
    char *all = calloc(1, 1);
    for (uint32_t sequence = 1; sequence < 100000; sequence++) {
        const struct rig_request *found = NULL;
        for (unsigned i = 0; i < rig->requests; i++) {
            const struct rig_request *r = &rig->request[i];
            if (r->kind == TRANSPORT_BATCH && r->status == 200 && r->raw &&
                r->sequence == sequence && strcmp(r->session, session) == 0 &&
                strcmp(r->channel, channel) == 0) {
                found = r;
            }
        }
        if (!found) {
            if (sequence > rig->requests + 1) {
                break;
            }
            continue; /* a quarantined number */
        }
        all = realloc(all, len + found->raw_len + 1);
        memcpy(all + len, found->raw, found->raw_len);
        len += found->raw_len;
        all[len] = '\0';
    }
    return all;
}

char *rig_file(struct rig *rig, const char *path)
{
    char full[1024];
    snprintf(full, sizeof full, "%s/%s", rig->root, path);
    FILE *file = fopen(full, "rb");
    assert_non_null(file);
    char *text = calloc(1, 1 << 20);
    size_t n = fread(text, 1, (1 << 20) - 1, file);
    text[n] = '\0';
    fclose(file);
    return text;
}
