/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which the engine sends the lines of a session. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/rig_backend.h"
#include "tests/support/rig_session.h"

static void an_ended_session_is_sent_once_and_completed(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(20);
    rig_start(rig);
    rig_run(rig, 60000, true);
    rig_all_same(rig, RIG_ID);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    assert_int_equal(rig->request[rig->requests - 1].kind, TRANSPORT_COMPLETE);
    unsigned before = rig->requests;
    rig_stop(rig);
    rig_start(rig);
    rig_run(rig, 60000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH),
                     before - 2); /* probe and complete */
    rig_delete(rig);
}

static void every_shutdown_goes_out_after_all_other_lines(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(5);
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
    rig_delete(rig);
}

static void a_live_session_is_followed_and_not_completed(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    live_line(&s, "device", "job_start", 0);
    rig_start(rig);
    rig_run(rig, 2000, false);
    rig_same_as_file(rig, RIG_ID, "device");
    live_line(&s, "device", "x", 1);
    engine_touch(rig->engine, 0, RIG_ID);
    rig_run(rig, 2000, false);
    rig_same_as_file(rig, RIG_ID, "device");
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
    live_line(&s, "device", "shutdown", 2);
    live_close(&s);
    engine_touch(rig->engine, 0, RIG_ID);
    rig_run(rig, 2000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    rig_delete(rig);
}

static void a_torn_line_is_held_back(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    live_line(&s, "device", "x", 1);
    dirs_append(s.dir, "device.log", "{\"type\":\"x\",\"session_id\":\"" RIG_ID "\",");
    rig_start(rig);
    rig_run(rig, 3000, false);
    assert_true(engine_drained(rig->engine)); /* a run on demand does not wait for it */
    char *stored = rig_stored(rig, RIG_ID, "device");
    assert_int_equal(strlen(stored), strchr(stored, '\n') - stored + 1);
    free(stored);
    dirs_append(s.dir, "device.log", "\"n\":2}\n");
    engine_touch(rig->engine, 0, RIG_ID);
    rig_run(rig, 3000, false);
    rig_same_as_file(rig, RIG_ID, "device");
    live_close(&s);
    rig_delete(rig);
}

static void a_final_line_without_newline_is_sent_if_it_is_whole(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    live_line(&s, "device", "x", 1);
    dirs_append(s.dir, "device.log",
                "{\"type\":\"x\",\"session_id\":\"" RIG_ID "\",\"n\":2}");
    live_line(&s, "scope", "x", 1);
    dirs_append(s.dir, "scope.log", "{\"type\":\"x\",\"sess");
    live_close(&s);
    rig_start(rig);
    rig_run(rig, 10000, true);
    char *device = rig_stored(rig, RIG_ID, "device");
    char *scope = rig_stored(rig, RIG_ID, "scope");
    assert_non_null(strstr(device, "\"n\":2}\n"));
    assert_null(strstr(scope, "\"sess\n"));
    assert_int_equal(rig_summary(rig).ranges_quarantined, 1);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
    free(device);
    free(scope);
    rig_delete(rig);
}

static void rotated_files_are_read_in_order_and_then_the_active_one(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
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
    char *stored = rig_stored(rig, RIG_ID, "device");
    char *at = stored;
    for (int n = 1; n <= 4; n++) {
        char mark[32];
        snprintf(mark, sizeof mark, "\"n\":%d}", n);
        at = strstr(at, mark);
        assert_non_null(at);
    }
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    free(stored);
    rig_delete(rig);
}

static bool is_there(const struct live_session *s, int number)
{
    char path[600];
    snprintf(path, sizeof path, "%s/device.%d.log", s->dir, number);
    return access(path, F_OK) == 0;
}

static void a_sealed_file_is_deleted_once_a_line_of_the_next_is_settled(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    rig->config.delete_acked = DELETE_ALL;
    live_open(&s, rig->root, RIG_ID);
    for (int n = 1; n <= 3; n++) {
        live_line(&s, "device", "x", n);
        live_rotate(&s, "device", (unsigned)n);
    }
    rig_start(rig);
    rig_run(rig, 60000, false);
    assert_int_equal(rig_summary(rig).lines_acked, 3);
    assert_false(is_there(&s, 1));
    assert_false(is_there(&s, 2));
    live_line(&s, "device", "x", 4);
    engine_rescan(rig->engine);
    rig_run(rig, 60000, false);
    assert_int_equal(rig_summary(rig).lines_acked, 4);
    assert_true(is_there(&s, 3)); /* the newest, which tells the active one's number */
    live_close(&s);
    rig_delete(rig);
}

static void a_batch_of_one_byte_at_most_takes_a_line(void **state)
{
    (void)state;
    static struct rig rig;
    struct live_session live;
    rig_open(&rig);
    rig.config.max_batch_bytes = 1;
    rig.config.max_requests_per_second = 0;
    live_open(&live, rig.root, RIG_ID);
    rig_fill(&live, 3);
    live_close(&live);
    rig_start(&rig);
    rig_run(&rig, 60000, true);
    rig_all_same(&rig, RIG_ID);
    rig_close(&rig);
}

/* The writer seals a file, cannot open the next one and takes the seal back. */
static void seal_and_take_back(struct rig *rig, struct live_session *s, bool restart)
{
    char sealed[600];
    char active[600];
    snprintf(sealed, sizeof sealed, "%s/device.1.log", s->dir);
    snprintf(active, sizeof active, "%s/device.log", s->dir);
    live_rotate(s, "device", 1);
    engine_rescan(rig->engine);
    rig_run(rig, 5000, false);
    if (restart) {
        rig_stop(rig);
        rig_start(rig);
        rig_run(rig, 5000, false);
    }
    assert_int_equal(rename(sealed, active), 0);
    live_line(s, "device", "x", 3);
}

static void a_seal_that_is_taken_back_repeats_nothing(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++) {
        struct rig *rig = rig_new();
        struct live_session s;
        live_open(&s, rig->root, RIG_ID);
        live_line(&s, "device", "job_start", 1);
        live_line(&s, "device", "x", 2);
        rig_start(rig);
        rig_run(rig, 5000, false);
        seal_and_take_back(rig, &s, restart);
        engine_rescan(rig->engine);
        rig_run(rig, 5000, false);
        live_line(&s, "device", "shutdown", 4);
        live_close(&s);
        engine_rescan(rig->engine);
        rig_run(rig, 60000, true);
        rig_same_as_file(rig, RIG_ID, "device");
        assert_int_equal(rig_summary(rig).sessions_done, 1);
        rig_delete(rig);
    }
}

static void a_seal_that_is_taken_back_hides_nothing(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    live_line(&s, "device", "job_start", 1);
    live_line(&s, "device", "x", 2);
    rig_start(rig);
    rig_run(rig, 5000, false);
    seal_and_take_back(rig, &s, false);
    live_rotate(&s, "device", 1); /* for good; between two looks */
    live_line(&s, "device", "shutdown", 4);
    live_close(&s);
    engine_rescan(rig->engine);
    rig_run(rig, 60000, true);
    char *stored = rig_stored(rig, RIG_ID, "device");
    char *sealed = rig_file(rig, RIG_ID "/device.1.log");
    char *active = rig_file(rig, RIG_ID "/device.log");
    assert_int_equal(strlen(stored), strlen(sealed) + strlen(active));
    assert_int_equal(strncmp(stored, sealed, strlen(sealed)), 0);
    assert_string_equal(stored + strlen(sealed), active);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    free(stored);
    free(sealed);
    free(active);
    rig_delete(rig);
}

static void a_writer_that_ended_between_seal_and_next_file_is_complete(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    live_line(&s, "device", "shutdown", 1);
    rig_start(rig);
    rig_run(rig, 5000, false);
    live_rotate(&s, "device", 1);
    engine_rescan(rig->engine);
    unsigned before = rig->loops;
    rig_run(rig, 60000, false);
    assert_true(rig->loops - before < 200); /* it waits, it does not spin */
    live_close(&s);
    engine_rescan(rig->engine);
    rig_run(rig, 60000, true);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_delete(rig);
}

static uint64_t bytes_read;
static ssize_t (*pread_uncounted)(int fd, void *buf, size_t len, off_t at);

static ssize_t pread_counted(int fd, void *buf, size_t len, off_t at)
{
    ssize_t n = pread_uncounted(fd, buf, len, at);
    bytes_read += n > 0 ? (uint64_t)n : 0;
    return n;
}

static void count_reads(struct rig *rig, struct sys *sys)
{
    *sys = *rig->config.sys;
    pread_uncounted = sys->pread;
    sys->pread = pread_counted;
    rig->config.sys = sys;
}

/* One turn, which reads little. */
static void turn_reads_little(struct rig *rig)
{
    bytes_read = 0;
    rig_run(rig, 0, false);
    assert_true(bytes_read < 16u << 20);
    rig_advance_ms(10);
}

static void stretch(const struct live_session *s, const char *name, off_t bytes)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", s->dir, name);
    assert_int_equal(truncate(path, bytes), 0);
}

/* Without a hole, which would not be read. */
static void fill(const struct live_session *s, const char *name, size_t bytes)
{
    char path[600];
    static char text[1u << 20];
    memset(text, 'x', sizeof text);
    snprintf(path, sizeof path, "%s/%s", s->dir, name);
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    for (; bytes; bytes -= sizeof text) {
        assert_int_equal(fwrite(text, 1, sizeof text, file), sizeof text);
    }
    assert_int_equal(fclose(file), 0);
}

/* A hole takes no room on disk, and is as long as anybody likes. */
static void a_line_with_a_hole_costs_no_more_than_its_bytes(void **state)
{
    (void)state;
    static struct sys sys;
    struct rig *rig = rig_new();
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    live_line(&s, "device", "x", 1);
    stretch(&s, "device.log", (off_t)1 << 40);
    dirs_append(s.dir, "device.log", "\n");
    live_line(&s, "device", "x", 2);
    live_close(&s);
    count_reads(rig, &sys);
    rig_start(rig);
    rig_run(rig, 60000, true);
    assert_true(engine_drained(rig->engine));
    assert_int_equal(rig_summary(rig).lines_acked, 2);
    assert_int_equal(rig_summary(rig).ranges_quarantined, 1);
    assert_true(bytes_read < 64u << 20);
    rig_delete(rig);
}

/* The search for its end takes many turns, and others are served between. */
static void a_line_without_end_delays_no_other_session(void **state)
{
    (void)state;
    static struct sys sys;
    struct rig *rig = rig_new();
    struct live_session endless;
    struct live_session other;
    live_open(&endless, rig->root, RIG_ID);
    live_line(&endless, "device", "x", 1);
    fill(&endless, "device.log", 64u << 20);
    live_close(&endless);
    live_open(&other, rig->root, RIG_ID2);
    count_reads(rig, &sys);
    rig_start(rig);
    for (bytes_read = 0; bytes_read < 8u << 20;) {
        turn_reads_little(rig);
    }
    live_line(&other, "device", "x", 1);
    engine_touch(rig->engine, 0, RIG_ID2);
    unsigned turns = 0;
    while (rig->requests == 0 ||
           strcmp(rig->request[rig->requests - 1].session, RIG_ID2) != 0) {
        turn_reads_little(rig);
        assert_true(++turns < 100);
    }
    assert_int_equal(rig_summary(rig).ranges_quarantined, 0);
    for (turns = 0; rig_summary(rig).ranges_quarantined == 0; turns++) {
        turn_reads_little(rig);
        assert_true(turns < 10000);
    }
    rig_same_as_file(rig, RIG_ID2, "device");
    live_close(&other);
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_without_end_delays_no_other_session),
        cmocka_unit_test(a_line_with_a_hole_costs_no_more_than_its_bytes),
        cmocka_unit_test(an_ended_session_is_sent_once_and_completed),
        cmocka_unit_test(every_shutdown_goes_out_after_all_other_lines),
        cmocka_unit_test(a_live_session_is_followed_and_not_completed),
        cmocka_unit_test(a_torn_line_is_held_back),
        cmocka_unit_test(a_final_line_without_newline_is_sent_if_it_is_whole),
        cmocka_unit_test(rotated_files_are_read_in_order_and_then_the_active_one),
        cmocka_unit_test(a_sealed_file_is_deleted_once_a_line_of_the_next_is_settled),
        cmocka_unit_test(a_batch_of_one_byte_at_most_takes_a_line),
        cmocka_unit_test(a_seal_that_is_taken_back_repeats_nothing),
        cmocka_unit_test(a_seal_that_is_taken_back_hides_nothing),
        cmocka_unit_test(a_writer_that_ended_between_seal_and_next_file_is_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
