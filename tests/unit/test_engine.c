/* SPDX-License-Identifier: Apache-2.0 */
/* The engine on a rig: what is sent, in which order, and what each answer does. */
#include "tests/support/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/dirs.h"
#include "tests/support/rig.h"

#define ID  "11111111-1111-4111-8111-111111111111"
#define ID2 "22222222-2222-4222-8222-222222222222"

static void fill(struct live_session *s, int lines)
{
    static const char *const channels[] = {"device", "scope", "system"};
    for (int c = 0; c < 3; c++) {
        live_line(s, channels[c], "job_start", 0);
        for (int i = 1; i <= lines; i++) {
            live_line(s, channels[c], "x", i);
        }
        live_line(s, channels[c], "shutdown", lines + 1);
    }
}

static void same_as_file(struct rig *rig, const char *session, const char *channel)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s.log", session, channel);
    char *file = rig_file(rig, path);
    char *stored = rig_stored(rig, session, channel);
    assert_string_equal(stored, file);
    free(file);
    free(stored);
}

static void all_same(struct rig *rig, const char *session)
{
    same_as_file(rig, session, "device");
    same_as_file(rig, session, "scope");
    same_as_file(rig, session, "system");
}

static unsigned count(const struct rig *rig, enum transport_kind kind)
{
    unsigned n = 0;
    for (unsigned i = 0; i < rig->requests; i++) {
        n += rig->request[i].kind == kind;
    }
    return n;
}

static struct engine_summary summary(const struct rig *rig)
{
    struct engine_summary s;
    engine_summary(rig->engine, &s);
    return s;
}

static struct rig *open_rig(void)
{
    struct rig *rig = malloc(sizeof *rig);
    rig_open(rig);
    return rig;
}

static void close_rig(struct rig *rig)
{
    rig_close(rig);
    free(rig);
}

/* An ended session of \p lines lines a channel, and an engine on it. */
static struct rig *ended_session(int lines)
{
    struct rig *rig = open_rig();
    struct live_session s;
    live_open(&s, rig->root, ID);
    fill(&s, lines);
    live_close(&s);
    return rig;
}

static void an_ended_session_is_sent_once_and_completed(void **state)
{
    (void)state;
    struct rig *rig = ended_session(20);
    rig_start(rig);
    rig_run(rig, 60000, true);
    all_same(rig, ID);
    assert_int_equal(summary(rig).sessions_done, 1);
    assert_int_equal(count(rig, TRANSPORT_COMPLETE), 1);
    assert_int_equal(rig->request[rig->requests - 1].kind, TRANSPORT_COMPLETE);
    unsigned before = rig->requests;
    rig_stop(rig);
    rig_start(rig);
    rig_run(rig, 60000, false);
    assert_int_equal(count(rig, TRANSPORT_BATCH), before - 2); /* probe and complete */
    close_rig(rig);
}

static void every_shutdown_goes_out_after_all_other_lines(void **state)
{
    (void)state;
    struct rig *rig = ended_session(5);
    rig_start(rig);
    rig_run(rig, 60000, true);
    bool shutdown_seen = false;
    for (unsigned i = 0; i < rig->requests; i++) {
        const struct rig_request *r = &rig->request[i];
        if (r->kind == TRANSPORT_BATCH) {
            bool is = strstr(r->raw, "shutdown") != NULL;
            assert_true(is || !shutdown_seen);
            shutdown_seen = shutdown_seen || is;
        }
    }
    assert_true(shutdown_seen);
    close_rig(rig);
}

static void a_live_session_is_followed_and_not_completed(void **state)
{
    (void)state;
    struct rig *rig = open_rig();
    struct live_session s;
    live_open(&s, rig->root, ID);
    live_line(&s, "device", "job_start", 0);
    rig_start(rig);
    rig_run(rig, 2000, false);
    same_as_file(rig, ID, "device");
    live_line(&s, "device", "x", 1);
    engine_touch(rig->engine, 0, ID);
    rig_run(rig, 2000, false);
    same_as_file(rig, ID, "device");
    assert_int_equal(count(rig, TRANSPORT_COMPLETE), 0);
    live_line(&s, "device", "shutdown", 2);
    live_close(&s);
    engine_touch(rig->engine, 0, ID);
    rig_run(rig, 2000, false);
    assert_int_equal(count(rig, TRANSPORT_COMPLETE), 1);
    close_rig(rig);
}

static void a_torn_line_is_held_back(void **state)
{
    (void)state;
    struct rig *rig = open_rig();
    struct live_session s;
    live_open(&s, rig->root, ID);
    live_line(&s, "device", "x", 1);
    dirs_append(s.dir, "device.log", "{\"type\":\"x\",\"session_id\":\"" ID "\",");
    rig_start(rig);
    rig_run(rig, 3000, false);
    char *stored = rig_stored(rig, ID, "device");
    assert_int_equal(strlen(stored), strchr(stored, '\n') - stored + 1);
    free(stored);
    dirs_append(s.dir, "device.log", "\"n\":2}\n");
    engine_touch(rig->engine, 0, ID);
    rig_run(rig, 3000, false);
    same_as_file(rig, ID, "device");
    live_close(&s);
    close_rig(rig);
}

static void a_final_line_without_newline_is_sent_if_it_is_whole(void **state)
{
    (void)state;
    struct rig *rig = open_rig();
    struct live_session s;
    live_open(&s, rig->root, ID);
    live_line(&s, "device", "x", 1);
    dirs_append(s.dir, "device.log",
                "{\"type\":\"x\",\"session_id\":\"" ID "\",\"n\":2}");
    live_line(&s, "scope", "x", 1);
    dirs_append(s.dir, "scope.log", "{\"type\":\"x\",\"sess");
    live_close(&s);
    rig_start(rig);
    rig_run(rig, 10000, true);
    char *device = rig_stored(rig, ID, "device");
    char *scope = rig_stored(rig, ID, "scope");
    assert_non_null(strstr(device, "\"n\":2}\n"));
    assert_null(strstr(scope, "\"sess\n"));
    assert_int_equal(summary(rig).ranges_quarantined, 1);
    assert_int_equal(count(rig, TRANSPORT_COMPLETE), 0);
    free(device);
    free(scope);
    close_rig(rig);
}

static void rotated_files_are_read_in_order_and_then_the_active_one(void **state)
{
    (void)state;
    struct rig *rig = open_rig();
    struct live_session s;
    live_open(&s, rig->root, ID);
    live_line(&s, "device", "x", 1);
    rig_start(rig);
    rig_run(rig, 2000, false);
    live_line(&s, "device", "x", 2);
    live_rotate(&s, "device", 1);
    live_line(&s, "device", "x", 3);
    live_rotate(&s, "device", 2);
    live_line(&s, "device", "shutdown", 4);
    live_close(&s);
    engine_rescan(rig->engine);
    rig_run(rig, 10000, true);
    char *stored = rig_stored(rig, ID, "device");
    char *at = stored;
    for (int n = 1; n <= 4; n++) {
        char mark[32];
        snprintf(mark, sizeof mark, "\"n\":%d}", n);
        at = strstr(at, mark);
        assert_non_null(at);
    }
    assert_int_equal(summary(rig).sessions_done, 1);
    free(stored);
    close_rig(rig);
}

/* ---- answers ---- */

static int fail_five_times(struct rig *rig, const struct rig_request *r)
{
    static const int status[] = {500, 503, 429, 0, RIG_LOST};
    if (r->kind != TRANSPORT_BATCH || rig->mark >= 5) {
        return RIG_REGISTRY;
    }
    return status[rig->mark++];
}

static void failures_are_retried_under_the_same_id_and_stored_once(void **state)
{
    (void)state;
    struct rig *rig = ended_session(10);
    rig->answer = fail_five_times;
    rig_start(rig);
    rig_run(rig, 600000, true);
    all_same(rig, ID);
    assert_int_equal(summary(rig).sessions_done, 1);
    for (unsigned i = 0; i < rig->requests; i++) {
        for (unsigned k = 0; k < i; k++) {
            const struct rig_request *a = &rig->request[i];
            const struct rig_request *b = &rig->request[k];
            if (a->kind == TRANSPORT_BATCH && strcmp(a->id, b->id) == 0) {
                assert_int_equal(a->crc32, b->crc32);
                assert_int_equal(a->sequence, b->sequence);
            }
        }
    }
    close_rig(rig);
}

static int wait_a_minute(struct rig *rig, const struct rig_request *r)
{
    return r->kind == TRANSPORT_BATCH && rig->mark++ == 0 ? 503 : RIG_REGISTRY;
}

static void a_servers_delay_is_the_least_wait(void **state)
{
    (void)state;
    struct rig *rig = ended_session(1);
    rig->answer = wait_a_minute;
    rig->retry_after_ms = 60000;
    rig_start(rig);
    rig_run(rig, 600000, true);
    unsigned first = 1; /* behind the probe */
    uint64_t next_ms = 0;
    for (unsigned i = first + 1; i < rig->requests && !next_ms; i++) {
        if (rig->request[i].at_ms > rig->request[first].at_ms) {
            next_ms = rig->request[i].at_ms;
        }
    }
    assert_true(next_ms - rig->request[first].at_ms >= 60000);
    close_rig(rig);
}

static int refuse_large(struct rig *rig, const struct rig_request *r)
{
    (void)rig;
    return r->kind == TRANSPORT_BATCH && r->lines > 3 ? 413 : RIG_REGISTRY;
}

static void a_batch_that_is_too_large_is_split(void **state)
{
    (void)state;
    struct rig *rig = ended_session(50);
    rig->answer = refuse_large;
    rig_start(rig);
    rig_run(rig, 600000, true);
    all_same(rig, ID);
    assert_int_equal(summary(rig).sessions_done, 1);
    assert_int_equal(summary(rig).ranges_quarantined, 0);
    close_rig(rig);
}

static int refuse_poison(struct rig *rig, const struct rig_request *r)
{
    (void)rig;
    bool poisoned = r->kind == TRANSPORT_BATCH && strcmp(r->channel, "scope") == 0 &&
                    strstr(r->raw, "\"n\":33}");
    return poisoned ? 400 : RIG_REGISTRY;
}

static void one_poison_line_is_quarantined_alone(void **state)
{
    (void)state;
    struct rig *rig = ended_session(100);
    rig->answer = refuse_poison;
    rig_start(rig);
    rig_run(rig, 600000, true);
    same_as_file(rig, ID, "device");
    same_as_file(rig, ID, "system");
    char *scope = rig_stored(rig, ID, "scope");
    assert_non_null(strstr(scope, "\"n\":32}"));
    assert_null(strstr(scope, "\"n\":33}"));
    assert_non_null(strstr(scope, "\"n\":34}"));
    assert_int_equal(summary(rig).ranges_quarantined, 1);
    assert_int_equal(summary(rig).sessions_done, 0);
    assert_int_equal(summary(rig).sessions_blocked, 1);
    /* A restart remembers it and sends nothing again. */
    unsigned before = count(rig, TRANSPORT_BATCH);
    rig_stop(rig);
    rig_start(rig);
    rig_run(rig, 60000, false);
    assert_int_equal(count(rig, TRANSPORT_BATCH), before);
    assert_int_equal(summary(rig).ranges_quarantined, 1);
    free(scope);
    close_rig(rig);
}

static int refuse_all(struct rig *rig, const struct rig_request *r)
{
    (void)rig;
    return r->kind == TRANSPORT_BATCH ? 400 : RIG_REGISTRY;
}

static void a_gateway_that_refuses_everything_shreds_nothing(void **state)
{
    (void)state;
    struct rig *rig = ended_session(200);
    rig->answer = refuse_all;
    rig_start(rig);
    rig_run(rig, 3600000, false);
    assert_int_equal(summary(rig).ranges_quarantined, 8);
    assert_int_equal(summary(rig).hold, HOLD_SERVER);
    assert_true(summary(rig).streams_pending > 0);
    close_rig(rig);
}

static int no_zstd(struct rig *rig, const struct rig_request *r)
{
    (void)rig;
    return strcmp(r->encoding, "zstd") == 0 ? 415 : RIG_REGISTRY;
}

static void after_415_the_same_id_goes_out_as_gzip(void **state)
{
    (void)state;
    struct rig *rig = ended_session(10);
    rig->answer = no_zstd;
    rig_start(rig);
    rig_run(rig, 60000, true);
    all_same(rig, ID);
    assert_string_equal(rig->request[1].encoding, "zstd");
    bool again = false;
    for (unsigned i = 2; i < rig->requests; i++) {
        again = again || (strcmp(rig->request[i].id, rig->request[1].id) == 0 &&
                          strcmp(rig->request[i].encoding, "gzip") == 0);
    }
    assert_true(again);
    close_rig(rig);
}

static void an_origin_that_declares_nothing_gets_gzip_without_identity(void **state)
{
    (void)state;
    struct rig *rig = ended_session(10);
    rig->version_body = "";
    rig_start(rig);
    rig_run(rig, 60000, true);
    all_same(rig, ID);
    for (unsigned i = 1; i < rig->requests; i++) {
        if (rig->request[i].kind == TRANSPORT_BATCH) {
            assert_string_equal(rig->request[i].encoding, "gzip");
            assert_false(rig->request[i].window_headers);
            assert_int_equal(strlen(rig->request[i].id), 36); /* Idempotency-Key */
        }
    }
    close_rig(rig);
}

static int refuse_key(struct rig *rig, const struct rig_request *r)
{
    return r->kind == TRANSPORT_BATCH && !rig->mark ? 401 : RIG_REGISTRY;
}

static void a_refused_key_holds_everything_and_loses_nothing(void **state)
{
    (void)state;
    struct rig *rig = ended_session(10);
    rig->answer = refuse_key;
    rig_start(rig);
    rig_run(rig, 600000, false);
    assert_int_equal(summary(rig).hold, HOLD_AUTH);
    assert_int_equal(summary(rig).lines_acked, 0);
    assert_true(count(rig, TRANSPORT_BATCH) < 60); /* slow retries */
    rig->mark = 1;
    engine_retry_now(rig->engine);
    rig_run(rig, 60000, true);
    all_same(rig, ID);
    assert_int_equal(summary(rig).hold, HOLD_NONE);
    close_rig(rig);
}

static int fail_one_stream(struct rig *rig, const struct rig_request *r)
{
    (void)rig;
    return r->kind == TRANSPORT_BATCH && strcmp(r->session, ID2) == 0 ? 500
                                                                      : RIG_REGISTRY;
}

static void a_batch_that_always_fails_is_in_nobodys_way(void **state)
{
    (void)state;
    struct rig *rig = ended_session(10);
    struct live_session s;
    live_open(&s, rig->root, ID2);
    live_line(&s, "device", "x", 1);
    live_close(&s);
    rig->answer = fail_one_stream;
    rig_start(rig);
    rig_run(rig, 120000, false);
    all_same(rig, ID);
    struct live_session more;
    live_open(&more, rig->root, "33333333-3333-4333-8333-333333333333");
    fill(&more, 5);
    live_close(&more);
    engine_rescan(rig->engine);
    rig_run(rig, 60000, false);
    all_same(rig, more.id);
    rig_run(rig, 3600000, false);
    unsigned tries = 0;
    for (unsigned i = 0; i < rig->requests; i++) {
        tries += strcmp(rig->request[i].session, ID2) == 0;
    }
    assert_true(tries < 120); /* its own backoff reaches minutes */
    assert_int_equal(summary(rig).streams_stuck, 1);
    close_rig(rig);
}

static int closed_session(struct rig *rig, const struct rig_request *r)
{
    rig->reply_body = "session already finalized";
    return r->kind == TRANSPORT_BATCH && strcmp(r->channel, "scope") == 0 ? 409
                                                                          : RIG_REGISTRY;
}

static void lines_for_a_closed_session_are_counted_as_not_stored(void **state)
{
    (void)state;
    struct rig *rig = ended_session(3);
    rig->answer = closed_session;
    rig_start(rig);
    rig_run(rig, 60000, true);
    same_as_file(rig, ID, "device");
    assert_int_equal(summary(rig).lines_refused_final, 5);
    assert_int_equal(summary(rig).sessions_done, 0);
    close_rig(rig);
}

static int lose_then_final(struct rig *rig, const struct rig_request *r)
{
    if (r->kind != TRANSPORT_BATCH || strcmp(r->channel, "device") != 0) {
        return RIG_REGISTRY;
    }
    rig->reply_body = "session already finalized";
    return rig->mark++ == 0 ? RIG_LOST : strstr(r->raw, "job_start") ? 409 : RIG_REGISTRY;
}

static void a_closed_session_after_a_lost_answer_means_stored(void **state)
{
    (void)state;
    struct rig *rig = ended_session(3);
    rig->answer = lose_then_final;
    rig_start(rig);
    rig_run(rig, 60000, true);
    assert_int_equal(summary(rig).lines_refused_final, 0);
    assert_int_equal(summary(rig).sessions_done, 1);
    close_rig(rig);
}

static int at_its_limit(struct rig *rig, const struct rig_request *r)
{
    return r->kind == TRANSPORT_BATCH && !rig->mark ? 402 : RIG_REGISTRY;
}

static void a_workspace_limit_holds_the_session(void **state)
{
    (void)state;
    struct rig *rig = ended_session(3);
    rig->answer = at_its_limit;
    rig_start(rig);
    rig_run(rig, 300000, false);
    assert_int_equal(summary(rig).hold, HOLD_QUOTA);
    assert_int_equal(summary(rig).lines_acked, 0);
    rig->mark = 1;
    rig_run(rig, 300000, true);
    all_same(rig, ID);
    close_rig(rig);
}

static int limit_of_some(struct rig *rig, const struct rig_request *r)
{
    (void)rig;
    return r->kind == TRANSPORT_BATCH && strncmp(r->session, "limit", 5) == 0
               ? 402
               : RIG_REGISTRY;
}

static void sessions_at_their_limit_are_in_nobodys_way(void **state)
{
    (void)state;
    struct rig *rig = open_rig();
    struct live_session s;
    for (int i = 0; i < 12; i++) {
        char id[40];
        snprintf(id, sizeof id, "limit%d", i);
        live_open(&s, rig->root, id);
        fill(&s, 1);
        live_close(&s);
    }
    live_open(&s, rig->root, ID);
    fill(&s, 5);
    live_close(&s);
    rig->answer = limit_of_some;
    rig_start(rig);
    rig_run(rig, 30000, false);
    all_same(rig, ID);
    assert_true(rig->loops < 2000);
    close_rig(rig);
}

static void an_outage_costs_few_requests_and_no_spinning(void **state)
{
    (void)state;
    struct rig *rig = ended_session(50);
    rig->answer = refuse_key;
    rig_start(rig);
    rig_run(rig, 3600000, false);
    assert_true(rig->requests < 300);
    assert_true(rig->loops < 5000);
    close_rig(rig);
}

/* ---- restarts and the journal ---- */

static void after_a_crash_the_same_range_is_offered_under_the_same_id(void **state)
{
    (void)state;
    struct rig *rig = ended_session(10);
    rig_start(rig);
    rig->silent = true; /* stored, but the agent dies before it hears of it */
    rig_run(rig, 5000, false);
    unsigned before = rig->requests;
    assert_true(before >= 1);
    rig->silent = false;
    rig_run(rig, 100, false);
    rig->silent = true;
    rig_run(rig, 5000, false);
    unsigned sent = rig->requests;
    assert_true(sent > before);
    rig_stop(rig);
    rig->silent = false;
    rig_start(rig);
    rig_run(rig, 60000, true);
    all_same(rig, ID);
    bool repeated = false;
    for (unsigned i = sent; i < rig->requests; i++) {
        repeated = repeated || strcmp(rig->request[i].id, rig->request[sent - 1].id) == 0;
    }
    assert_true(repeated);
    close_rig(rig);
}

static void what_was_acknowledged_is_not_sent_again_after_a_restart(void **state)
{
    (void)state;
    struct rig *rig = open_rig();
    struct live_session s;
    live_open(&s, rig->root, ID);
    live_line(&s, "device", "x", 1);
    rig_start(rig);
    rig_run(rig, 5000, false);
    assert_int_equal(count(rig, TRANSPORT_BATCH), 1);
    rig_stop(rig);
    rig_start(rig);
    rig_run(rig, 5000, false);
    assert_int_equal(count(rig, TRANSPORT_BATCH), 1);
    live_close(&s);
    close_rig(rig);
}

static int fail_write;
static ssize_t failing_pwrite(int fd, const void *buf, size_t len, off_t at)
{
    if (fail_write) {
        errno = ENOSPC;
        return -1;
    }
    return pwrite(fd, buf, len, at);
}

static void a_full_disk_pauses_and_recovers_by_itself(void **state)
{
    (void)state;
    struct rig *rig = open_rig();
    static struct sys sys;
    struct live_session s;
    live_open(&s, rig->root, ID);
    fill(&s, 5);
    live_close(&s);
    sys = *rig->config.sys;
    sys.pwrite = failing_pwrite;
    rig->config.sys = &sys;
    fail_write = 0;
    rig_start(rig);
    fail_write = 1;
    rig_run(rig, 60000, false);
    assert_int_equal(count(rig, TRANSPORT_BATCH), 0);
    assert_int_equal(summary(rig).hold, HOLD_JOURNAL);
    assert_true(rig->loops < 200); /* it waits, it does not spin */
    fail_write = 0;
    rig_run(rig, 60000, true);
    all_same(rig, ID);
    assert_int_equal(summary(rig).sessions_done, 1);
    close_rig(rig);
}

static void with_nothing_to_do_it_hardly_turns(void **state)
{
    (void)state;
    struct rig *rig = ended_session(5);
    struct live_session live;
    live_open(&live, rig->root, ID2);
    live_line(&live, "device", "x", 1);
    dirs_append(live.dir, "scope.log", "{\"torn\":");
    rig_start(rig);
    rig_run(rig, 10000, false);
    assert_int_equal(summary(rig).sessions_done, 1);
    unsigned before = rig->loops;
    rig_run(rig, 600000, false);
    /* The rescan every 10 s, the flush interval of the torn line, nothing else. */
    assert_in_range(rig->loops - before, 1, 4 * 600 / 10);
    live_close(&live);
    close_rig(rig);
}

static unsigned opens;

static int counted_open(int dir, const char *path, int flags, mode_t mode)
{
    opens++;
    return sys_real.open_beneath(dir, path, flags, mode);
}

static void visit_nothing(void *arg, unsigned root, const char *root_path,
                          const char *session, bool done)
{
    (void)arg;
    (void)root;
    (void)root_path;
    (void)session;
    (void)done;
}

static void a_watched_job_that_says_nothing_is_left_alone(void **state)
{
    (void)state;
    struct rig *rig = open_rig();
    struct live_session live;
    struct sys counted = *rig->config.sys;
    counted.open_beneath = counted_open;
    rig->config.sys = &counted;
    live_open(&live, rig->root, ID);
    live_line(&live, "system", "x", 1);
    rig_start(rig);
    rig_run(rig, 5000, false);
    engine_visit_changed(rig->engine, visit_nothing, NULL);
    opens = 0;
    rig_run(rig, 600000, false);
    /* The root, and the session with two files at most, each minute. */
    assert_in_range(opens, 10, 12 + 11 * 2);
    /* What comes is seen at the next listing, told or not. */
    struct live_session later;
    unsigned batches = count(rig, TRANSPORT_BATCH);
    const struct timespec long_ago[2] = {{1, 0}, {1, 0}}; /* apart from what comes now */
    assert_int_equal(utimensat(AT_FDCWD, rig->root, long_ago, 0), 0);
    rig_run(rig, 70000, false);
    live_open(&later, rig->root, "22222222-2222-4222-8222-222222222222");
    live_line(&later, "system", "x", 1);
    rig_run(rig, 11000, false);
    assert_int_equal(count(rig, TRANSPORT_BATCH), batches + 1);
    live_close(&later);
    live_close(&live);
    close_rig(rig);
}

static void open_twenty(const struct rig *rig, struct live_session s[20])
{
    for (int i = 0; i < 20; i++) {
        char id[40];
        snprintf(id, sizeof id, "%08d-1111-4111-8111-111111111111", i);
        live_open(&s[i], rig->root, id);
    }
}

static unsigned syncs;

static int counted_fdatasync(int fd)
{
    syncs++;
    return sys_real.fdatasync(fd);
}

/* Whenever in a flush interval they come: at its end all go, behind one sync. */
static void what_comes_within_one_interval_goes_together(void **state)
{
    (void)state;
    struct rig *rig = open_rig();
    struct live_session s[20];
    struct sys counted = *rig->config.sys;
    counted.fdatasync = counted_fdatasync;
    rig->config.sys = &counted;
    rig->config.syncer = syncer_inline(&counted);
    rig->config.settled_sync_ms = 1000;
    rig->config.flush_interval_ms = 1000;
    rig->config.max_requests_per_second = 0;
    open_twenty(rig, s);
    rig_start(rig);
    rig_run(rig, 5000, false);
    rig_run(rig, 1000 - rig_now_ms() % 1000 + 1, false);
    unsigned before = rig->requests;
    uint64_t begin_ms = rig_now_ms();
    syncs = 0;
    for (int i = 0; i < 20; i++) {
        live_line(&s[i], "system", "x", 1);
        engine_touch(rig->engine, 0, s[i].id);
        rig_run(rig, 40, false);
    }
    assert_int_equal(rig->requests, before);
    rig_run(rig, 300, false);
    assert_int_equal(rig->requests - before, 20);
    for (unsigned i = before; i < rig->requests; i++) {
        assert_true(rig->request[i].at_ms / 1000 == begin_ms / 1000 + 1);
    }
    assert_in_range(syncs, 1, 2);
    for (int i = 0; i < 20; i++) {
        live_close(&s[i]);
    }
    close_rig(rig);
}

static void requests_keep_to_their_budget(void **state)
{
    (void)state;
    struct rig *rig = open_rig();
    struct live_session s[20];
    open_twenty(rig, s);
    rig_start(rig);
    uint64_t start = rig_now_ms();
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < 20; i++) {
            live_line(&s[i], "system", "x", round);
            engine_touch(rig->engine, 0, s[i].id);
        }
        rig_run(rig, 100, false);
    }
    uint64_t seconds = (rig_now_ms() - start) / 1000;
    assert_true(rig->requests <= 50 * seconds + 11);
    for (int i = 0; i < 20; i++) {
        live_close(&s[i]);
    }
    close_rig(rig);
}

/* How many requests go out at once when 20 channels have lines and nobody answers. */
static unsigned at_once(struct rig *rig, struct live_session s[20])
{
    for (int i = 0; i < 20; i++) {
        live_line(&s[i], "system", "x", i);
        engine_touch(rig->engine, 0, s[i].id);
    }
    rig->silent = true;
    unsigned before = rig->requests;
    rig_run(rig, 2000, false);
    unsigned sent = rig->requests - before;
    rig->silent = false;
    rig_run(rig, 2000, false);
    return sent;
}

static void many_connections_only_where_answers_are_slow(void **state)
{
    (void)state;
    struct rig *rig = open_rig();
    struct live_session s[20];
    open_twenty(rig, s);
    rig->config.max_requests_per_second = 0;
    rig_start(rig);
    rig_run(rig, 1000, false);
    assert_int_equal(at_once(rig, s), 4);
    rig->took_ms = 100;
    at_once(rig, s);
    assert_int_equal(at_once(rig, s), TRANSPORT_SLOTS);
    rig->took_ms = 1;
    at_once(rig, s);
    assert_int_equal(at_once(rig, s), 4);
    for (int i = 0; i < 20; i++) {
        live_close(&s[i]);
    }
    close_rig(rig);
}

static void force_sends_again_with_fresh_numbers(void **state)
{
    (void)state;
    struct rig *rig = ended_session(3);
    rig_start(rig);
    rig_run(rig, 60000, true);
    unsigned before = count(rig, TRANSPORT_BATCH);
    rig_stop(rig);
    rig->config.force = true;
    rig_start(rig);
    rig_run(rig, 60000, true);
    assert_int_equal(count(rig, TRANSPORT_BATCH), 2 * before);
    assert_int_equal(summary(rig).ranges_quarantined, 0);
    close_rig(rig);
}

static void a_channel_that_is_not_followed_keeps_its_place(void **state)
{
    (void)state;
    struct rig *rig = ended_session(3);
    rig_start(rig);
    rig_run(rig, 60000, true);
    unsigned before = count(rig, TRANSPORT_BATCH);
    rig_stop(rig);
    struct engine_channels all = rig->channels;
    rig->channels = (struct engine_channels){{"system"}, 1};
    rig_start(rig);
    rig_run(rig, 1000, false);
    rig_stop(rig);
    rig->channels = all;
    rig_start(rig);
    rig_run(rig, 60000, false);
    assert_int_equal(count(rig, TRANSPORT_BATCH), before);
    close_rig(rig);
}

static void a_batch_of_one_byte_at_most_takes_a_line(void **state)
{
    (void)state;
    static struct rig rig;
    struct live_session live;
    rig_open(&rig);
    rig.config.max_batch_bytes = 1;
    rig.config.max_requests_per_second = 0;
    live_open(&live, rig.root, ID);
    fill(&live, 3);
    live_close(&live);
    rig_start(&rig);
    rig_run(&rig, 60000, true);
    all_same(&rig, ID);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_ended_session_is_sent_once_and_completed),
        cmocka_unit_test(every_shutdown_goes_out_after_all_other_lines),
        cmocka_unit_test(a_live_session_is_followed_and_not_completed),
        cmocka_unit_test(a_torn_line_is_held_back),
        cmocka_unit_test(a_final_line_without_newline_is_sent_if_it_is_whole),
        cmocka_unit_test(rotated_files_are_read_in_order_and_then_the_active_one),
        cmocka_unit_test(failures_are_retried_under_the_same_id_and_stored_once),
        cmocka_unit_test(a_servers_delay_is_the_least_wait),
        cmocka_unit_test(a_batch_that_is_too_large_is_split),
        cmocka_unit_test(one_poison_line_is_quarantined_alone),
        cmocka_unit_test(a_gateway_that_refuses_everything_shreds_nothing),
        cmocka_unit_test(after_415_the_same_id_goes_out_as_gzip),
        cmocka_unit_test(an_origin_that_declares_nothing_gets_gzip_without_identity),
        cmocka_unit_test(a_refused_key_holds_everything_and_loses_nothing),
        cmocka_unit_test(a_batch_that_always_fails_is_in_nobodys_way),
        cmocka_unit_test(lines_for_a_closed_session_are_counted_as_not_stored),
        cmocka_unit_test(a_closed_session_after_a_lost_answer_means_stored),
        cmocka_unit_test(a_workspace_limit_holds_the_session),
        cmocka_unit_test(sessions_at_their_limit_are_in_nobodys_way),
        cmocka_unit_test(an_outage_costs_few_requests_and_no_spinning),
        cmocka_unit_test(after_a_crash_the_same_range_is_offered_under_the_same_id),
        cmocka_unit_test(what_was_acknowledged_is_not_sent_again_after_a_restart),
        cmocka_unit_test(a_full_disk_pauses_and_recovers_by_itself),
        cmocka_unit_test(with_nothing_to_do_it_hardly_turns),
        cmocka_unit_test(a_watched_job_that_says_nothing_is_left_alone),
        cmocka_unit_test(what_comes_within_one_interval_goes_together),
        cmocka_unit_test(requests_keep_to_their_budget),
        cmocka_unit_test(many_connections_only_where_answers_are_slow),
        cmocka_unit_test(force_sends_again_with_fresh_numbers),
        cmocka_unit_test(a_channel_that_is_not_followed_keeps_its_place),
        cmocka_unit_test(a_batch_of_one_byte_at_most_takes_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
