/* SPDX-License-Identifier: Apache-2.0 */
/* Answers by which the backend refuses what the engine sent. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema/protocol.h"
#include "tests/support/rig_backend.h"
#include "tests/support/rig_session.h"

static bool is_there(const struct live_session *s, const char *name)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", s->dir, name);
    return access(path, F_OK) == 0;
}

static int refuse_large(struct rig *rig, const struct rig_request *r)
{
    (void)rig;
    return r->kind == TRANSPORT_BATCH && r->lines > 3 ? 413 : RIG_REGISTRY;
}

static void a_batch_that_is_too_large_is_split(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(50);
    rig->answer = refuse_large;
    rig_start(rig);
    rig_run(rig, 600000, true);
    rig_all_same(rig, RIG_ID);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    assert_int_equal(rig_summary(rig).ranges_quarantined, 0);
    rig_delete(rig);
}

/* The second half fits, too: it is not sent together with what follows it. */
static void the_second_half_of_a_split_batch_goes_as_it_is(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(47); /* 48 lines, and the shutdown */
    char answers[64] = "";
    rig->answer = refuse_large;
    rig_start(rig);
    rig_run(rig, 600000, true);
    for (unsigned i = 0, n = 0; i < rig->requests && n < 6; i++) {
        const struct rig_request *r = &rig->request[i];
        if (r->kind == TRANSPORT_BATCH && strcmp(r->channel, "device") == 0) {
            size_t len = strlen(answers);
            snprintf(answers + len, sizeof answers - len, "%u:%d ", r->lines, r->status);
            n++;
        }
    }
    assert_string_equal(answers, "48:413 24:413 12:413 6:413 3:200 3:200 ");
    rig_delete(rig);
}

static int conflict_in_the_first(struct rig *rig, const struct rig_request *r)
{
    (void)rig;
    bool first = strcmp(r->session, RIG_ID) == 0;
    return first && r->kind == TRANSPORT_BATCH ? 409 : RIG_REGISTRY;
}

/* It keeps its registry, and takes what it does not know: so it is with a session whose
 * journal was lost. */
static void a_backend_that_knows_windows_by_other_ids_holds_nothing_else(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(10);
    struct live_session s;
    rig->config.max_batch_lines = 1;
    rig->answer = conflict_in_the_first;
    rig->reply_body = "{\"error\":\"" PROTOCOL_SEQUENCE_CONFLICT "\"}";
    rig_start(rig);
    rig_run(rig, 60000, false);
    assert_int_equal(engine_holding(rig->engine), HOLD_NONE);
    assert_int_equal(rig_summary(rig).ranges_quarantined, 3 * 12);
    live_open(&s, rig->root, RIG_ID2);
    rig_fill(&s, 10);
    live_close(&s);
    engine_rescan(rig->engine);
    rig_run(rig, 30000, false);
    rig_all_same(rig, RIG_ID2);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_delete(rig);
}

static void a_stored_batch_that_is_split_twice_is_stored_once(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(15);
    rig->answer = rig_lose_then_too_large;
    rig_start(rig);
    rig_run(rig, 600000, true);
    assert_true(rig->mark > 4);
    rig_all_same(rig, RIG_ID);
    assert_int_equal(rig_summary(rig).lines_acked, 3 * 17);
    assert_int_equal(rig_summary(rig).ranges_quarantined, 0);
    rig_delete(rig);
}

/* A batch of "device" may have arrived, is then too large, and the session is closed. */
static int busy_then_too_large_then_closed(struct rig *rig, const struct rig_request *r)
{
    if (r->kind != TRANSPORT_BATCH || strcmp(r->channel, "device") != 0) {
        return RIG_REGISTRY;
    }
    rig->mark++;
    return rig->mark == 1 ? 0 : rig->mark == 2 ? 503 : rig->mark == 3 ? 413 : 409;
}

static void a_half_that_was_never_sent_before_does_not_count_as_stored(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(15);
    rig->answer = busy_then_too_large_then_closed;
    rig->reply_body = "session already finalized";
    rig_start(rig);
    rig_run(rig, 600000, true);
    assert_true(rig->mark > 3);
    assert_int_equal(rig_summary(rig).lines_refused_final, 17);
    assert_int_equal(rig_summary(rig).sessions_done, 0);
    rig_delete(rig);
}

/* The batch of an earlier run, encoded anew, is too large; the halves' ids are taken. */
static int split_then_taken(struct rig *rig, const struct rig_request *r)
{
    if (r->kind != TRANSPORT_BATCH || strcmp(r->channel, "device") != 0) {
        return RIG_REGISTRY;
    }
    rig->reply_body = rig->mark == 2 ? PROTOCOL_IDENTITY_CONFLICT : NULL;
    return rig->mark == 0     ? 0
           : rig->mark++ == 1 ? 413
           : rig->mark < 4    ? 409
                              : RIG_REGISTRY;
}

static void a_half_has_an_encoding_of_its_own(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(15);
    rig->answer = split_then_taken;
    rig_start(rig);
    rig_run(rig, 5000, false);
    rig_stop(rig);
    rig->config.compression = COMPRESS_GZIP;
    rig->mark = 1;
    rig_start(rig);
    rig_run(rig, 600000, false);
    assert_int_equal(rig_summary(rig).ranges_quarantined, 1);
    assert_int_equal(rig_summary(rig).sessions_done, 0);
    rig_delete(rig);
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
    struct rig *rig = rig_ended_session(100);
    rig->answer = refuse_poison;
    rig_start(rig);
    rig_run(rig, 600000, true);
    rig_same_as_file(rig, RIG_ID, "device");
    rig_same_as_file(rig, RIG_ID, "system");
    char *scope = rig_stored(rig, RIG_ID, "scope");
    assert_non_null(strstr(scope, "\"n\":32}"));
    assert_null(strstr(scope, "\"n\":33}"));
    assert_non_null(strstr(scope, "\"n\":34}"));
    assert_int_equal(rig_summary(rig).ranges_quarantined, 1);
    assert_int_equal(rig_summary(rig).sessions_done, 0);
    assert_int_equal(rig_summary(rig).sessions_blocked, 1);
    /* A restart remembers it and sends nothing again. */
    unsigned before = rig_count(rig, TRANSPORT_BATCH);
    rig_stop(rig);
    rig_start(rig);
    rig_run(rig, 60000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), before);
    assert_int_equal(rig_summary(rig).ranges_quarantined, 1);
    free(scope);
    rig_delete(rig);
}

static int refuse_all(struct rig *rig, const struct rig_request *r)
{
    (void)rig;
    return r->kind == TRANSPORT_BATCH ? 400 : RIG_REGISTRY;
}

static void a_gateway_that_refuses_everything_shreds_nothing(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(200);
    rig->answer = refuse_all;
    rig_start(rig);
    rig_run(rig, 3600000, false);
    assert_int_equal(rig_summary(rig).ranges_quarantined, 8);
    assert_int_equal(rig_summary(rig).hold, HOLD_SERVER);
    assert_true(rig_summary(rig).streams_pending > 0);
    rig_delete(rig);
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
    struct rig *rig = rig_ended_session(3);
    rig->answer = closed_session;
    rig_start(rig);
    rig_run(rig, 60000, true);
    rig_same_as_file(rig, RIG_ID, "device");
    assert_int_equal(rig_summary(rig).lines_refused_final, 5);
    assert_int_equal(rig_summary(rig).sessions_done, 0);
    rig_delete(rig);
}

static int closed_by_another(struct rig *rig, const struct rig_request *r)
{
    rig->reply_body = "session already finalized";
    return r->kind == TRANSPORT_PROBE ? RIG_REGISTRY : 409;
}

/* A rig whose upload cursor says that another tool sent the session at \p when. */
static struct rig *rig_with_cursor(const char *when)
{
    char text[256];
    struct rig *rig = rig_ended_session(3);
    snprintf(text, sizeof text,
             "{\"schema_version\":2,\"uploaded_files\":[],\"completed_sessions\":{"
             "\"%s\":{\"completed_at\":\"%s\",\"events\":0}}}",
             RIG_ID, when);
    dirs_append(rig->root, ".gpufl-upload-cursor.json", text);
    rig->answer = closed_by_another;
    return rig;
}

static void what_the_cursor_names_and_the_backend_has_closed_is_complete(void **state)
{
    (void)state;
    struct rig *rig = rig_with_cursor("2099-01-01T00:00:00Z");
    rig_start(rig);
    rig_run(rig, 60000, true);
    assert_int_equal(rig_summary(rig).lines_refused_final, 0);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_delete(rig);
}

static void a_cursor_that_the_backend_does_not_confirm_is_not_believed(void **state)
{
    (void)state;
    struct rig *rig = rig_with_cursor("2099-01-01T00:00:00Z");
    rig->answer = NULL;
    rig_start(rig);
    rig_run(rig, 60000, true);
    rig_all_same(rig, RIG_ID);
    rig_delete(rig);
}

static void a_cursor_of_old_or_of_others_is_not_believed(void **state)
{
    (void)state;
    static const char *const when[] = {"2001-01-01T00:00:00Z", "soon",
                                       "2099-01-01T00:00:00Z"};
    for (size_t i = 0; i < 3; i++) {
        struct rig *rig = rig_with_cursor(when[i]);
        if (i == 2) {
            assert_int_equal(chmod(rig->root, 0777), 0);
        }
        rig_start(rig);
        rig_run(rig, 60000, true);
        assert_true(rig_summary(rig).lines_refused_final > 0);
        assert_int_equal(rig_summary(rig).sessions_done, 0);
        rig_delete(rig);
    }
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
    struct rig *rig = rig_ended_session(3);
    rig->answer = lose_then_final;
    rig_start(rig);
    rig_run(rig, 60000, true);
    assert_int_equal(rig_summary(rig).lines_refused_final, 0);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_delete(rig);
}

/* Of the sessions that ended before the test began. */
static int refuse_to_complete(struct rig *rig, const struct rig_request *r)
{
    return r->kind == TRANSPORT_COMPLETE && strncmp(r->session, "old", 3) == 0
               ? rig->mark
               : RIG_REGISTRY;
}

static void end_sessions(struct rig *rig, int count)
{
    for (int i = 0; i < count; i++) {
        struct live_session s;
        char id[40];
        snprintf(id, sizeof id, "old%d", i);
        live_open(&s, rig->root, id);
        live_line(&s, "device", "shutdown", 1);
        live_close(&s);
    }
}

/* The longest that a line of another session waits while those of `end_sessions` are
 * refused. */
static uint64_t longest_wait_ms(int status)
{
    struct rig *rig = rig_new();
    struct live_session live;
    uint64_t longest_ms = 0;
    end_sessions(rig, 30);
    live_open(&live, rig->root, RIG_ID);
    rig->mark = status;
    rig->answer = refuse_to_complete;
    rig->config.rescan_interval_ms = 100;
    rig_start(rig);
    for (int i = 0; i < 20; i++) {
        uint64_t begin_ms = rig_now_ms();
        live_line(&live, "device", "x", i);
        engine_rescan(rig->engine);
        rig_run(rig, 20000, false);
        for (unsigned k = 0; k < rig->requests; k++) {
            const struct rig_request *r = &rig->request[k];
            if (r->at_ms >= begin_ms && strcmp(r->session, RIG_ID) == 0 &&
                r->at_ms - begin_ms > longest_ms) {
                longest_ms = r->at_ms - begin_ms;
            }
        }
    }
    assert_int_equal(rig_summary(rig).sessions_done, 0);
    assert_true(rig_count(rig, TRANSPORT_COMPLETE) >= 60);  /* retried … */
    assert_true(rig_count(rig, TRANSPORT_COMPLETE) < 1000); /* … ever more slowly */
    rig_same_as_file(rig, RIG_ID, "device");
    live_close(&live);
    rig_delete(rig);
    return longest_ms;
}

static void refused_completions_delay_no_other_session(void **state)
{
    (void)state;
    assert_in_range(longest_wait_ms(422), 0, 700);
    assert_in_range(longest_wait_ms(400), 0, 700);
    assert_in_range(longest_wait_ms(500), 0, 700);
}

static void sessions_that_cannot_complete_keep_no_other_from_being_sent(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    end_sessions(rig, 150);
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    rig_fill(&s, 3);
    live_close(&s);
    rig->mark = 422;
    rig->answer = refuse_to_complete;
    rig_start(rig);
    rig_run(rig, 60000, false);
    rig_all_same(rig, RIG_ID);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    assert_int_equal(rig_summary(rig).streams_pending, 0);
    rig->mark = 200;
    rig_run(rig, 600000, true);
    assert_int_equal(rig_summary(rig).sessions_done, 151);
    rig_delete(rig);
}

static int no_answer_to_complete(struct rig *rig, const struct rig_request *r)
{
    return r->kind == TRANSPORT_COMPLETE ? rig->mark : RIG_REGISTRY;
}

static void a_completion_without_answer_counts_against_the_origin(void **state)
{
    (void)state;
    static const int status[] = {0, 429, 503};
    for (size_t i = 0; i < sizeof status / sizeof *status; i++) {
        struct rig *rig = rig_ended_session(3);
        rig->mark = status[i];
        rig->answer = no_answer_to_complete;
        rig_start(rig);
        rig_run(rig, 60000, false);
        assert_true(rig_summary(rig).failures_in_row > 1);
        rig_delete(rig);
    }
}

static void lines_that_are_not_stored_keep_their_files(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    rig->config.delete_acked = DELETE_ALL;
    rig->answer = closed_session;
    live_open(&s, rig->root, RIG_ID);
    for (int n = 1; n <= 3; n++) {
        live_line(&s, "device", "x", n);
        live_rotate(&s, "device", (unsigned)n);
        live_line(&s, "scope", "x", n);
        live_rotate(&s, "scope", (unsigned)n);
    }
    live_close(&s);
    rig_start(rig);
    rig_run(rig, 600000, false);
    assert_int_equal(rig_summary(rig).lines_refused_final, 3);
    assert_false(is_there(&s, "device.1.log"));
    assert_true(is_there(&s, "scope.1.log"));
    assert_true(is_there(&s, "scope.2.log"));
    rig_delete(rig);
}

static int fail_then_final(struct rig *rig, const struct rig_request *r)
{
    if (r->kind != TRANSPORT_BATCH || strcmp(r->channel, "device") != 0) {
        return RIG_REGISTRY;
    }
    rig->reply_body = "session already finalized";
    return rig->mark++ == 0 ? 502 : 409;
}

/* A gateway may answer 502 after the backend has stored. */
static void a_closed_session_after_a_server_error_means_stored(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    rig->answer = fail_then_final;
    live_open(&s, rig->root, RIG_ID);
    live_line(&s, "device", "x", 1);
    live_close(&s);
    rig_start(rig);
    rig_run(rig, 600000, true);
    assert_int_equal(rig->mark, 2);
    assert_int_equal(rig_summary(rig).lines_acked, 1);
    assert_int_equal(rig_summary(rig).lines_refused_final, 0);
    rig_delete(rig);
}

/* Every tenth line, each after lines that are stored. */
static int refuse_tenths(struct rig *rig, const struct rig_request *r)
{
    (void)rig;
    return r->kind == TRANSPORT_BATCH && strstr(r->raw, "0}") ? 400 : RIG_REGISTRY;
}

static void refused_lines_between_stored_ones_hold_no_origin(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    rig->answer = refuse_tenths;
    live_open(&s, rig->root, RIG_ID);
    for (int n = 1; n <= 125; n++) {
        live_line(&s, "device", "x", n);
    }
    live_close(&s);
    rig_start(rig);
    rig_run(rig, 600000, true);
    assert_int_equal(rig_summary(rig).hold, HOLD_NONE);
    assert_int_equal(rig_summary(rig).ranges_quarantined, 12);
    assert_int_equal(rig_summary(rig).lines_acked, 113);
    rig_delete(rig);
}

static void a_backend_that_knows_no_end_of_a_session_has_it_complete(void **state)
{
    (void)state;
    static const int status[] = {404, 405, 409, 501};
    for (size_t i = 0; i < sizeof status / sizeof *status; i++) {
        struct rig *rig = rig_ended_session(3);
        rig->mark = status[i];
        rig->answer = no_answer_to_complete;
        rig_start(rig);
        rig_run(rig, 60000, false);
        assert_int_equal(rig_summary(rig).sessions_done, 1);
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
        rig_delete(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_that_is_too_large_is_split),
        cmocka_unit_test(the_second_half_of_a_split_batch_goes_as_it_is),
        cmocka_unit_test(a_backend_that_knows_windows_by_other_ids_holds_nothing_else),
        cmocka_unit_test(a_stored_batch_that_is_split_twice_is_stored_once),
        cmocka_unit_test(a_half_that_was_never_sent_before_does_not_count_as_stored),
        cmocka_unit_test(a_half_has_an_encoding_of_its_own),
        cmocka_unit_test(one_poison_line_is_quarantined_alone),
        cmocka_unit_test(a_gateway_that_refuses_everything_shreds_nothing),
        cmocka_unit_test(lines_for_a_closed_session_are_counted_as_not_stored),
        cmocka_unit_test(what_the_cursor_names_and_the_backend_has_closed_is_complete),
        cmocka_unit_test(a_cursor_that_the_backend_does_not_confirm_is_not_believed),
        cmocka_unit_test(a_cursor_of_old_or_of_others_is_not_believed),
        cmocka_unit_test(a_closed_session_after_a_lost_answer_means_stored),
        cmocka_unit_test(refused_completions_delay_no_other_session),
        cmocka_unit_test(sessions_that_cannot_complete_keep_no_other_from_being_sent),
        cmocka_unit_test(a_completion_without_answer_counts_against_the_origin),
        cmocka_unit_test(lines_that_are_not_stored_keep_their_files),
        cmocka_unit_test(a_closed_session_after_a_server_error_means_stored),
        cmocka_unit_test(refused_lines_between_stored_ones_hold_no_origin),
        cmocka_unit_test(a_backend_that_knows_no_end_of_a_session_has_it_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
