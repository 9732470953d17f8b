/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine knows after a restart, by its journal. */
#include "tests/support/check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/rig_backend.h"
#include "tests/support/rig_session.h"

static void after_a_crash_the_same_range_is_offered_under_the_same_id(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(10);
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
    rig_all_same(rig, RIG_ID);
    bool repeated = false;
    for (unsigned i = sent; i < rig->requests; i++) {
        repeated = repeated || strcmp(rig->request[i].id, rig->request[sent - 1].id) == 0;
    }
    assert_true(repeated);
    rig_delete(rig);
}

static void what_was_acknowledged_is_not_sent_again_after_a_restart(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    live_line(&s, "device", "x", 1);
    rig_start(rig);
    rig_run(rig, 5000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), 1);
    rig_stop(rig);
    rig_start(rig);
    rig_run(rig, 5000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), 1);
    live_close(&s);
    rig_delete(rig);
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
    struct rig *rig = rig_new();
    static struct sys sys;
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    rig_fill(&s, 5);
    live_close(&s);
    sys = *rig->config.sys;
    sys.pwrite = failing_pwrite;
    rig->config.sys = &sys;
    fail_write = 0;
    rig_start(rig);
    fail_write = 1;
    rig_run(rig, 60000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), 0);
    assert_int_equal(rig_summary(rig).hold, HOLD_JOURNAL);
    assert_true(rig->loops < 200); /* it waits, it does not spin */
    fail_write = 0;
    rig_run(rig, 60000, true);
    rig_all_same(rig, RIG_ID);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_delete(rig);
}

static void force_sends_again_with_fresh_numbers(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(3);
    rig_start(rig);
    rig_run(rig, 60000, true);
    unsigned before = rig_count(rig, TRANSPORT_BATCH);
    rig_stop(rig);
    rig->config.force = true;
    rig_start(rig);
    rig_run(rig, 60000, true);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), 2 * before);
    assert_int_equal(rig_summary(rig).ranges_quarantined, 0);
    rig_delete(rig);
}

static void a_channel_that_is_not_followed_keeps_its_place(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(3);
    rig_start(rig);
    rig_run(rig, 60000, true);
    unsigned before = rig_count(rig, TRANSPORT_BATCH);
    rig_stop(rig);
    struct engine_channels all = rig->channels;
    rig->channels = (struct engine_channels){{"system"}, 1};
    rig_start(rig);
    rig_run(rig, 1000, false);
    rig_stop(rig);
    rig->channels = all;
    rig_start(rig);
    rig_run(rig, 60000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), before);
    rig_delete(rig);
}

static void a_child_forked_while_a_root_was_served_does_not_keep_its_lock(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(3);
    int alive[2];
    char byte;
    assert_int_equal(pipe(alive), 0);
    rig_start(rig);
    rig_run(rig, 5000, false);
    pid_t child = fork();
    if (child == 0) {
        close(alive[1]);
        ssize_t n = read(alive[0], &byte, 1); /* until the parent has tried */
        _exit((int)n);
    }
    assert_true(child > 0);
    close(alive[0]);
    rig_stop(rig);
    rig_start(rig);
    close(alive[1]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    rig_run(rig, 60000, true);
    rig_all_same(rig, RIG_ID);
    rig_delete(rig);
}

/* Every batch has no answer, or one over 4 MiB is too large. */
static int away_or_too_large(struct rig *rig, const struct rig_request *r)
{
    if (r->kind != TRANSPORT_BATCH) {
        return RIG_REGISTRY;
    }
    return rig->mark == 0                              ? 0
           : rig->mark == 413 && r->raw_len > 4u << 20 ? 413
                                                       : RIG_REGISTRY;
}

/* 10 MiB in 2,560 lines. */
static char *long_lines(struct rig *rig)
{
    enum { LINES = 2560, LINE_BYTES = 4096 };
    struct live_session s;
    char *text = malloc(LINES * LINE_BYTES + 1);
    memset(text, 'x', LINES * LINE_BYTES);
    for (int i = 0; i < LINES; i++) {
        char *line = text + (size_t)i * LINE_BYTES;
        int n = snprintf(line, LINE_BYTES, "{\"type\":\"%s\",\"n\":%d,\"pad\":\"",
                         i ? "x" : "job_start", i);
        line[n] = 'x';
        memcpy(line + LINE_BYTES - 3, "\"}\n", 3);
    }
    text[LINES * LINE_BYTES] = '\0';
    live_open(&s, rig->root, RIG_ID);
    dirs_append(s.dir, "device.log", text);
    live_line(&s, "device", "shutdown", 1);
    live_close(&s);
    return text;
}

static void a_batch_as_large_as_batches_may_be_is_read_again(int then)
{
    struct rig *rig = rig_new();
    char *text = long_lines(rig);
    rig->config.max_batch_bytes = 16u << 20;
    rig->answer = away_or_too_large;
    rig_start(rig);
    rig_run(rig, 10000, false);
    assert_true(rig_count(rig, TRANSPORT_BATCH) > 0);
    rig_stop(rig);
    rig->config.max_batch_bytes = 1u << 20; /* what is offered keeps its size */
    rig->mark = then;
    rig_start(rig);
    rig_run(rig, 600000, true);
    char *stored = rig_stored(rig, RIG_ID, "device");
    assert_int_equal(strncmp(stored, text, strlen(text)), 0);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    free(stored);
    free(text);
    rig_delete(rig);
}

static void a_large_batch_is_read_again_after_a_restart(void **state)
{
    (void)state;
    a_batch_as_large_as_batches_may_be_is_read_again(200);
}

static void a_large_batch_that_is_too_large_is_split(void **state)
{
    (void)state;
    a_batch_as_large_as_batches_may_be_is_read_again(413);
}

/* A backend that cannot be reached, and then has closed the session. */
static int away_then_closed(struct rig *rig, const struct rig_request *r)
{
    rig->reply_body = "session already finalized";
    return r->kind != TRANSPORT_BATCH ? RIG_REGISTRY : rig->mark ? 409 : 0;
}

static void
what_never_left_the_host_does_not_count_as_stored_after_a_restart(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(3);
    rig->answer = away_then_closed;
    rig_start(rig);
    rig_run(rig, 60000, false);
    rig_stop(rig);
    rig->mark = 1;
    rig_start(rig);
    rig_run(rig, 60000, false);
    assert_int_equal(rig_summary(rig).lines_refused_final, 15);
    assert_int_equal(rig_summary(rig).lines_acked, 0);
    assert_int_equal(rig_summary(rig).sessions_done, 0);
    rig_delete(rig);
}

static void an_offer_that_waited_for_its_turn_does_not_count_as_stored(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(3);
    rig->answer = away_then_closed;
    rig->sync_ms = 1000;
    rig_start(rig);
    rig_run(rig, 500, false); /* the sync of the offers is under way */
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), 0);
    rig_stop(rig);
    rig->mark = 1;
    rig_start(rig);
    rig_run(rig, 60000, false);
    assert_int_equal(rig_summary(rig).lines_refused_final, 15);
    rig_delete(rig);
}

static int lost_then_closed(struct rig *rig, const struct rig_request *r)
{
    rig->reply_body = "session already finalized";
    return r->kind != TRANSPORT_BATCH ? RIG_REGISTRY
           : rig->mark == 2           ? 409
           : rig->mark == 1           ? 0
                                      : RIG_LOST;
}

static void what_may_have_arrived_counts_as_stored_after_a_restart(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(3);
    rig->answer = lost_then_closed;
    rig_start(rig);
    rig_run(rig, 100, false);
    assert_true(rig_count(rig, TRANSPORT_BATCH) >= 1);
    rig->mark = 1; /* later attempts do not reach it */
    rig_run(rig, 600000, false);
    rig_stop(rig);
    rig->mark = 2;
    rig_start(rig);
    rig_run(rig, 600000, false);
    unsigned lost = 0;
    for (unsigned i = 0; i < rig->requests; i++) {
        lost += rig->lost[i] ? rig->request[i].lines : 0;
    }
    assert_int_equal(rig_summary(rig).lines_acked, lost);
    assert_int_equal(rig_summary(rig).lines_refused_final, 15 - lost);
    rig_delete(rig);
}

static void what_was_under_way_counts_as_stored_after_a_crash(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(3);
    rig->answer = lost_then_closed;
    rig_start(rig);
    rig_run(rig, 100, false);
    rig->silent = true;
    rig_run(rig, 5000, false);
    unsigned under_way = rig->requests - rig->answered;
    assert_true(under_way >= 1);
    rig_stop(rig);
    rig->silent = false;
    rig->mark = 2;
    rig_start(rig);
    rig_run(rig, 600000, false);
    assert_true(rig_summary(rig).lines_acked >= under_way);
    rig_delete(rig);
}

static int lose_first_of_device(struct rig *rig, const struct rig_request *r)
{
    bool first = r->kind == TRANSPORT_BATCH && strcmp(r->channel, "device") == 0;
    return first && rig->mark++ == 0 ? RIG_LOST : rig->mark == 1 ? 0 : RIG_REGISTRY;
}

static void a_stored_batch_that_is_encoded_anew_is_known_as_stored(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    live_line(&s, "device", "x", 1);
    live_close(&s);
    rig->answer = lose_first_of_device;
    rig_start(rig);
    rig_run(rig, 50, false);
    assert_int_equal(rig->mark, 1);
    rig_stop(rig);
    rig->config.compression = COMPRESS_GZIP; /* it was zstd */
    rig->mark = 2;
    rig_start(rig);
    rig_run(rig, 60000, true);
    assert_int_equal(rig_summary(rig).ranges_quarantined, 0);
    assert_int_equal(rig_summary(rig).lines_acked, 1);
    rig_same_as_file(rig, RIG_ID, "device");
    rig_delete(rig);
}

static void a_line_without_newline_is_the_same_after_a_restart(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    dirs_append(s.dir, "device.log", "{\"type\":\"x\"}");
    live_close(&s);
    rig->answer = lose_first_of_device;
    rig_start(rig);
    rig_run(rig, 50, false);
    assert_int_equal(rig->mark, 1);
    rig_stop(rig);
    rig->mark = 2;
    rig_start(rig);
    rig_run(rig, 60000, true);
    assert_int_equal(rig_summary(rig).ranges_quarantined, 0);
    assert_int_equal(rig_summary(rig).lines_acked, 1);
    char *stored = rig_stored(rig, RIG_ID, "device");
    assert_string_equal(stored, "{\"type\":\"x\"}\n");
    free(stored);
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_a_crash_the_same_range_is_offered_under_the_same_id),
        cmocka_unit_test(what_was_acknowledged_is_not_sent_again_after_a_restart),
        cmocka_unit_test(a_full_disk_pauses_and_recovers_by_itself),
        cmocka_unit_test(force_sends_again_with_fresh_numbers),
        cmocka_unit_test(a_channel_that_is_not_followed_keeps_its_place),
        cmocka_unit_test(
            what_never_left_the_host_does_not_count_as_stored_after_a_restart),
        cmocka_unit_test(a_child_forked_while_a_root_was_served_does_not_keep_its_lock),
        cmocka_unit_test(a_large_batch_is_read_again_after_a_restart),
        cmocka_unit_test(a_large_batch_that_is_too_large_is_split),
        cmocka_unit_test(an_offer_that_waited_for_its_turn_does_not_count_as_stored),
        cmocka_unit_test(what_may_have_arrived_counts_as_stored_after_a_restart),
        cmocka_unit_test(what_was_under_way_counts_as_stored_after_a_crash),
        cmocka_unit_test(a_stored_batch_that_is_encoded_anew_is_known_as_stored),
        cmocka_unit_test(a_line_without_newline_is_the_same_after_a_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
