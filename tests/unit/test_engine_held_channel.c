/* SPDX-License-Identifier: Apache-2.0 */
/* A run on demand of a session of which one channel is held: the others are sent before
 * it ends, and it ends. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/rig_backend.h"
#include "tests/support/rig_session.h"
#include "upload/engine/backlog.h"

#define LINES 3000

static unsigned device_lines(const struct rig *rig)
{
    unsigned lines = 0;
    for (unsigned i = 0; i < rig->requests; i++) {
        const struct rig_request *r = &rig->request[i];
        bool ours = r->kind == TRANSPORT_BATCH && strcmp(r->channel, "device") == 0;
        lines += ours ? r->lines : 0;
    }
    return lines;
}

/* Of several batches. */
static void write_device(struct live_session *s)
{
    live_line(s, "device", "job_start", 0);
    for (int i = 1; i <= LINES; i++) {
        live_line(s, "device", "x", i);
        if (i % (LINES / 3) == 0) {
            live_rotate(s, "device", (unsigned)(i / (LINES / 3)));
        }
    }
}

static void ends_and_keeps_back(struct rig *rig, unsigned lines)
{
    uint64_t began_ms = rig_now_ms();
    rig_run(rig, 300000, true);
    assert_true(engine_drained(rig->engine));
    assert_true(rig_now_ms() - began_ms < 60000);
    assert_int_equal(device_lines(rig), lines);
    assert_int_equal(rig_summary(rig).sessions_kept_back, 1);
    assert_int_equal(rig_summary(rig).sessions_done, 0);
}

static struct rig *rig_with_small_batches(void)
{
    struct rig *rig = rig_new();
    rig->config.max_batch_bytes = 8192;
    rig->config.flush_interval_ms = 0;
    return rig;
}

static void a_channel_without_a_file_keeps_back_no_other(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = rig_with_small_batches();
    live_open(&s, rig->root, RIG_ID);
    live_list(&s, "\"device\",\"sass\"");
    write_device(&s);
    live_line(&s, "device", "shutdown", LINES + 1);
    live_close(&s);
    rig_start(rig);
    ends_and_keeps_back(rig, LINES + 2);
    rig_delete(rig);
}

/* The shutdown of a channel goes last of all, so it waits for the other channel. */
static void a_channel_that_is_cut_short_keeps_back_only_the_shutdown(void **state)
{
    (void)state;
    char path[600];
    struct live_session s;
    struct rig *rig = rig_with_small_batches();
    live_open(&s, rig->root, RIG_ID);
    live_line(&s, "scope", "job_start", 1);
    rig_start(rig);
    rig_run(rig, 20000, false);
    assert_int_equal(rig_summary(rig).lines_acked, 1);
    rig_stop(rig);
    snprintf(path, sizeof path, "%s/scope.log", s.dir);
    assert_int_equal(truncate(path, 1), 0);
    write_device(&s);
    live_line(&s, "device", "shutdown", LINES + 1);
    live_close(&s);
    rig_start(rig);
    ends_and_keeps_back(rig, LINES + 1);
    rig_delete(rig);
}

static bool is_published(struct rig *rig)
{
    char *text = rig_file(rig, ".gpufl-agent/progress");
    bool held = strstr(text, "!held ") != NULL;
    free(text);
    return held;
}

/* Lines of another channel keep coming, so the state is published all the time; so is it
 * while the channel is looked at again. */
static void is_held_all_the_time(struct rig *rig, struct live_session *s)
{
    for (int i = 0; i < 600; i++) {
        if (i % 5 == 0) {
            live_line(s, "device", "x", i);
        }
        rig_run(rig, 250, false);
        struct backlog backlog;
        engine_backlog(rig->engine, &backlog);
        assert_int_equal(backlog.blocked, 1);
        assert_int_equal(rig_summary(rig).sessions_blocked, 1);
        assert_int_equal(rig_summary(rig).sessions_kept_back, 1);
        assert_true(is_published(rig));
    }
}

static void a_hold_is_shown_until_its_reason_is_gone(void **state)
{
    (void)state;
    static const char line[] = "{\"type\":\"job_start\"}\n";
    char path[600];
    struct live_session s;
    struct rig *rig = rig_new();
    live_open(&s, rig->root, RIG_ID);
    live_line(&s, "device", "job_start", 1);
    dirs_append(s.dir, "scope.log", line);
    rig_start(rig);
    rig_run(rig, 20000, false);
    assert_int_equal(rig_summary(rig).lines_acked, 2);
    rig_stop(rig);
    snprintf(path, sizeof path, "%s/scope.log", s.dir);
    assert_int_equal(truncate(path, 1), 0);
    rig_start(rig);
    rig_run(rig, 5000, false);
    is_held_all_the_time(rig, &s);
    dirs_append(s.dir, "scope.log", line + 1);
    rig_run(rig, 70000, false);
    assert_int_equal(rig_summary(rig).sessions_blocked, 0);
    assert_false(is_published(rig));
    live_close(&s);
    rig_delete(rig);
}

/* A 1.1 session, whose writer takes no lock, with a channel that cannot be read. */
static struct rig *rig_with_damage(struct live_session *s, bool device_ends)
{
    struct rig *rig = rig_new();
    *s = (struct live_session){.id = RIG_ID};
    snprintf(s->dir, sizeof s->dir, "%s/" RIG_ID, rig->root);
    assert_int_equal(mkdir(s->dir, 0700), 0);
    dirs_append(s->dir, "device.log", "{\"type\":\"job_start\"}\n{\"type\":\"x\"}\n");
    if (device_ends) {
        dirs_append(s->dir, "device.log", "{\"type\":\"shutdown\"}\n");
    }
    dirs_append(s->dir, "scope.log.gz", "this is no gzip file");
    rig->config.orphan_timeout_ms = 600000;
    rig_start(rig);
    return rig;
}

static void a_session_whose_end_is_damaged_does_not_count_as_live(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = rig_with_damage(&s, true);
    rig_run(rig, 20000, false);
    assert_int_equal(rig_summary(rig).sessions_live, 1);
    rig_run(rig, 100000, false);
    assert_int_equal(rig_summary(rig).sessions_live, 0);
    assert_int_equal(device_lines(rig), 3);
    assert_int_equal(rig_summary(rig).sessions_kept_back, 1);
    rig_run(rig, 60000, true);
    assert_true(engine_drained(rig->engine));
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
    dirs_append(s.dir, "device.log", "{\"type\":\"x\"}\n"); /* it was not its end */
    rig_run(rig, 300000, false);
    assert_int_equal(device_lines(rig), 4);
    assert_int_equal(rig_summary(rig).sessions_live, 1);
    rig_delete(rig);
}

static void one_whose_other_channels_go_on_counts_until_it_is_given_up(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = rig_with_damage(&s, false);
    rig_run(rig, 500000, false);
    assert_int_equal(rig_summary(rig).sessions_live, 1);
    rig_run(rig, 200000, false);
    assert_int_equal(rig_summary(rig).sessions_live, 0);
    assert_int_equal(device_lines(rig), 2);
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_channel_without_a_file_keeps_back_no_other),
        cmocka_unit_test(a_channel_that_is_cut_short_keeps_back_only_the_shutdown),
        cmocka_unit_test(a_session_whose_end_is_damaged_does_not_count_as_live),
        cmocka_unit_test(one_whose_other_channels_go_on_counts_until_it_is_given_up),
        cmocka_unit_test(a_hold_is_shown_until_its_reason_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
