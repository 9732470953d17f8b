/* SPDX-License-Identifier: Apache-2.0 */
/* A writer that has sealed a file and not made the next one: what one-shot uploads do. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/layout.h"
#include "tests/support/rig_backend.h"
#include "tests/support/rig_session.h"

#define NEVER_MS (24u * 3600u * 1000u)

static unsigned between_files;

static void log_count(void *arg, enum log_level level, const char *line)
{
    (void)arg;
    (void)level;
    between_files += strstr(line, "session.between_files") != NULL;
}

/* Nothing tells of changes, and nothing is listed twice. */
static struct rig *rig_with_sealed(struct live_session *s)
{
    static const struct log log = {.level = LOG_AT_WARN, .write = log_count};
    struct rig *rig = rig_new();
    between_files = 0;
    rig->config.log = &log;
    rig->config.rescan_interval_ms = NEVER_MS;
    rig->config.flush_interval_ms = 0;
    live_open(s, rig->root, RIG_ID);
    live_line(s, "device", "job_start", 1);
    live_line(s, "device", "x", 2);
    live_rotate(s, "device", 1);
    rig_start(rig);
    return rig;
}

static void seal_is_taken_back(struct live_session *s)
{
    char sealed[600];
    char active[600];
    snprintf(sealed, sizeof sealed, "%s/device.1.log", s->dir);
    snprintf(active, sizeof active, "%s/device.log", s->dir);
    assert_int_equal(rename(sealed, active), 0);
}

static void the_upload_ends_soon_and_says_why_it_is_not_complete(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = rig_with_sealed(&s);
    uint64_t began_ms = rig_now_ms();
    rig_run(rig, 300000, true);
    assert_true(engine_drained(rig->engine));
    assert_true(rig_now_ms() - began_ms < 2000);
    assert_true(rig->loops < 200);
    assert_int_equal(rig_summary(rig).lines_acked, 2);
    assert_int_equal(rig_summary(rig).sessions_live, 1);
    assert_int_equal(rig_summary(rig).sessions_done, 0);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
    assert_int_equal(between_files, 1);
    rig_stop(rig);
    seal_is_taken_back(&s);
    live_line(&s, "device", "shutdown", 3);
    live_close(&s);
    rig_start(rig);
    rig_run(rig, 60000, true);
    rig_same_as_file(rig, RIG_ID, "device");
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_delete(rig);
}

static void a_next_file_that_comes_at_once_is_sent_too(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = rig_with_sealed(&s);
    rig_run(rig, 50, false);
    assert_false(engine_drained(rig->engine));
    live_line(&s, "device", "x", 3);
    rig_run(rig, 300000, true);
    assert_true(engine_drained(rig->engine));
    assert_int_equal(rig_summary(rig).lines_acked, 3);
    assert_int_equal(between_files, 0);
    live_close(&s);
    rig_delete(rig);
}

static void a_next_file_that_comes_late_is_seen(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = rig_with_sealed(&s);
    rig_run(rig, 300000, true);
    live_line(&s, "device", "shutdown", 3);
    engine_rescan(rig->engine);
    rig_run(rig, 300000, true);
    assert_int_equal(rig_summary(rig).lines_acked, 3);
    live_rotate(&s, "device", 2); /* this one is waited for again */
    engine_rescan(rig->engine);
    rig_run(rig, 50, false);
    assert_false(engine_drained(rig->engine));
    rig_run(rig, 300000, true);
    assert_true(engine_drained(rig->engine));
    live_close(&s);
    engine_rescan(rig->engine);
    rig_run(rig, 60000, true);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_delete(rig);
}

static void a_writer_that_cannot_be_probed_has_ended_after_a_silence(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = rig_with_sealed(&s);
    char lock[600];
    snprintf(lock, sizeof lock, "%s/" LAYOUT_LOCK, s.dir);
    live_close(&s);
    assert_int_equal(remove(lock), 0);
    uint64_t began_ms = rig_now_ms();
    rig_run(rig, 300000, true);
    assert_true(engine_drained(rig->engine));
    assert_true(rig_now_ms() - began_ms < 60000);
    assert_int_equal(rig_summary(rig).lines_acked, 2);
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_upload_ends_soon_and_says_why_it_is_not_complete),
        cmocka_unit_test(a_next_file_that_comes_at_once_is_sent_too),
        cmocka_unit_test(a_next_file_that_comes_late_is_seen),
        cmocka_unit_test(a_writer_that_cannot_be_probed_has_ended_after_a_silence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
