/* SPDX-License-Identifier: Apache-2.0 */
/* An origin that knows positions answers otherwise than schema/openapi.json says: what is
 * said of that is true, and it is not taken for more than it is. */
#include "tests/support/check.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tests/support/rig_session.h"

#define MINUTE_MS (60ull * 1000)

#define AT_THE_BEGIN                                                                     \
    "\"end\":{\"file\":1,\"offset\":0,\"lines\":0,\"crc\":0,\"file_crc\":0,"             \
    "\"losses\":0}"

static struct text logged;

static void keep_line(void *arg, enum log_level level, const char *line)
{
    (void)arg;
    (void)level;
    text_printf(&logged, "%s\n", line);
}

static const struct log kept = {.level = LOG_AT_WARN, .write = keep_line};

/* \return the lines logged with warnings; the next test begins without. */
static const char *was_logged(void)
{
    text_append(&logged, "", 1);
    logged.len = 0;
    return logged.data;
}

static struct rig *rig_with(int (*answer)(struct rig *, const struct rig_request *))
{
    struct rig *rig = rig_positions_on(rig_ended_session(3));
    rig->config.log = &kept;
    rig->answer = answer;
    return rig;
}

static void goes_on(struct rig *rig)
{
    rig->answer = NULL;
    rig_run(rig, 20 * MINUTE_MS, true);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_all_same(rig, RIG_ID);
    (void)was_logged();
    rig_delete(rig);
}

static int answer_claims(struct rig *rig, const struct rig_request *r)
{
    return r->kind == TRANSPORT_COMPLETE ? rig->mark : RIG_REGISTRY;
}

static int answer_parts(struct rig *rig, const struct rig_request *r)
{
    return r->kind == TRANSPORT_PARTS ? rig->mark : RIG_REGISTRY;
}

/* Neither that nothing is missing, nor that something is. */
static void a_claim_is_not_taken_where_the_answer_does_not_say_complete(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *said;
    } row[] = {{200, "HTTP 200"}, {202, "HTTP 202"}, {204, "HTTP 204"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct rig *rig = rig_with(answer_claims);
        rig->mark = row[i].status;
        rig->ok_body = "{}";
        rig_start(rig);
        rig_run(rig, 5 * MINUTE_MS, false);
        assert_int_equal(rig_summary(rig).sessions_done, 0);
        assert_non_null(strstr(rig_summary(rig).last_problem, row[i].said));
        assert_non_null(
            strstr(rig_summary(rig).last_problem, "whether lines are missing"));
        assert_in_range(rig_count(rig, TRANSPORT_COMPLETE), 3, 20);
        const char *log = was_logged();
        assert_null(strstr(log, "session.ended"));
        assert_non_null(strstr(log, "session.not_completed"));
        goes_on(rig);
    }
}

static void an_answer_without_a_verdict_is_not_called_a_damaged_request(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *body;
        const char *said;
    } row[] = {
        {202, "", "answered 202"},
        {204, "", "answered 204"},
        {200, "{}", "answered 200"},
        {200, "{\"epoch\":\"1\",\"parts\":[{\"verdict\":\"later\"," AT_THE_BEGIN "}]}",
         "answered 200"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct rig *rig = rig_with(answer_parts);
        rig->mark = row[i].status;
        rig->ok_body = row[i].body;
        rig_start(rig);
        rig_run(rig, MINUTE_MS, false);
        assert_non_null(strstr(rig_summary(rig).last_problem, row[i].said));
        const char *log = was_logged();
        assert_non_null(strstr(log, row[i].said));
        assert_null(strstr(log, "damaged"));
        goes_on(rig);
    }
}

/* The verdict comes with 200, and the limit is not one of the workspace. */
static void a_backend_without_room_is_not_said_to_have_answered_402(void **state)
{
    (void)state;
    struct rig *rig = rig_with(answer_parts);
    rig->mark = 200;
    rig->ok_body =
        "{\"epoch\":\"1\",\"parts\":[{\"verdict\":\"full\"," AT_THE_BEGIN "}]}";
    rig_start(rig);
    rig_run(rig, MINUTE_MS, false);
    assert_int_equal(rig_summary(rig).hold, HOLD_QUOTA);
    assert_int_equal(rig_summary(rig).hold_status, 0);
    assert_non_null(strstr(rig_summary(rig).last_problem, "no room"));
    assert_null(strstr(rig_summary(rig).last_problem, "402"));
    const char *log = was_logged();
    assert_non_null(strstr(log, "session.quota"));
    assert_null(strstr(log, "402"));
    goes_on(rig);
}

/* What goes by positions is stored once without a registry. */
static void no_registry_is_warned_of_only_without_positions(void **state)
{
    (void)state;
    for (int positions = 0; positions < 2; positions++) {
        struct rig *rig = rig_with(NULL);
        rig->version_body = positions
                                ? "{\"supported\":[\"1\"],\"encodings\":[\"gzip\"],"
                                  "\"positions\":true,\"epoch\":\"1\"}"
                                : "{\"supported\":[\"1\"],\"encodings\":[\"gzip\"]}";
        rig->positions.declared = positions;
        rig_start(rig);
        rig_run(rig, MINUTE_MS, true);
        assert_int_equal(strstr(was_logged(), "at least once") == NULL, positions);
        goes_on(rig);
    }
}

static int answer_ends(struct rig *rig, const struct rig_request *r)
{
    return r->kind == TRANSPORT_ENDS ? rig->mark : RIG_REGISTRY;
}

static bool is_in_progress(struct rig *rig, const char *text)
{
    rig_run(rig, 5000, false);
    char *progress = rig_file(rig, LAYOUT_PROGRESS);
    bool is = strstr(progress, text) != NULL;
    free(progress);
    return is;
}

static void a_session_of_which_the_ends_are_not_told_is_said_to_wait(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *said;
    } row[] = {
        {400, "answered 400: x"}, {404, "answered 404: x"}, {410, "answered 410: x"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct rig *rig = rig_with(answer_ends);
        rig->mark = row[i].status;
        rig->reply_body = "{\"error\":\"other\",\"message\":\"x\"}";
        rig_start(rig);
        rig_run(rig, 10 * MINUTE_MS, false);
        assert_non_null(strstr(rig_summary(rig).last_problem, row[i].said));
        const char *log = was_logged();
        const char *first = strstr(log, "session.ends_refused");
        assert_non_null(first);
        assert_null(strstr(first + 1, "session.ends_refused"));
        assert_true(is_in_progress(rig, "to the question how far it has it"));
        rig->answer = NULL;
        rig_run(rig, 2 * MINUTE_MS, false);
        assert_false(is_in_progress(rig, "to the question how far it has it"));
        goes_on(rig);
    }
}

static void a_session_that_is_told_to_be_expired_is_held_as_such(void **state)
{
    (void)state;
    struct rig *rig = rig_with(answer_ends);
    rig->mark = 410;
    rig->reply_body = "{\"error\":\"expired\",\"message\":\"x\"}";
    rig_start(rig);
    rig_run(rig, MINUTE_MS, true);
    assert_true(engine_drained(rig->engine));
    assert_true(is_in_progress(rig, held_text(HELD_EXPIRED)));
    unsigned asked = rig_count(rig, TRANSPORT_ENDS);
    rig_stop(rig);
    rig_start(rig);
    rig_run(rig, 60 * MINUTE_MS, false);
    assert_int_equal(rig_count(rig, TRANSPORT_ENDS), asked);
    assert_true(is_in_progress(rig, held_text(HELD_EXPIRED)));
    assert_int_equal(rig_count(rig, TRANSPORT_PARTS), 0);
    (void)was_logged();
    rig_delete(rig);
}

/* Against the rules: such a part is the one that is stored. */
static void a_part_that_is_refused_at_its_begin_waits_by_itself(void **state)
{
    (void)state;
    static const char *const body[] = {
        "{\"epoch\":\"1\",\"parts\":[{\"verdict\":\"conflict\"," AT_THE_BEGIN "}]}",
        "{\"epoch\":\"1\",\"parts\":[{\"verdict\":\"complete\"," AT_THE_BEGIN "}]}"};
    for (size_t i = 0; i < sizeof body / sizeof *body; i++) {
        struct rig *rig = rig_with(answer_parts);
        rig->mark = 200;
        rig->ok_body = body[i];
        rig_start(rig);
        rig_run(rig, MINUTE_MS, false);
        assert_in_range(rig_count(rig, TRANSPORT_PARTS), 6, 30);
        assert_non_null(strstr(rig_summary(rig).last_problem, "refuses to go on"));
        assert_non_null(strstr(was_logged(), "upload.retry"));
        assert_true(is_in_progress(rig, "refuses to go on"));
        goes_on(rig);
    }
}

static void positions_without_an_epoch_are_said_to_lack_one(void **state)
{
    (void)state;
    struct rig *rig = rig_with(NULL);
    rig->version_body = "{\"supported\":[\"1\"],\"positions\":true}";
    rig->positions.declared = false;
    rig_start(rig);
    rig_run(rig, MINUTE_MS, true);
    assert_non_null(strstr(was_logged(), "origin.no_epoch"));
    goes_on(rig);
}

/* A part of a session that goes on, as it was sent first. */
static struct {
    struct live_session writer;
    char *raw;
    unsigned times;
} first;

static bool is_part_of_device(const struct rig_request *r)
{
    return r->kind == TRANSPORT_PARTS && strcmp(r->channel, "device") == 0;
}

static int fail_three_times(struct rig *rig, const struct rig_request *r)
{
    if (!is_part_of_device(r) || first.times > 3) {
        return RIG_REGISTRY;
    }
    first.raw = first.times++ ? first.raw : strdup(r->raw);
    assert_string_equal(r->raw, first.raw);
    live_line(&first.writer, "device", "x", 100 + (int)first.times);
    return first.times > 3 ? RIG_REGISTRY : rig->mark;
}

/* From memory, or, as others needed the room there, from its file, which has grown. */
static void a_part_is_repeated_as_it_was_though_its_file_grows(void **state)
{
    (void)state;
    static const int fate[] = {RIG_LOST, 0, 503, 404};
    for (size_t i = 0; i < sizeof fate / sizeof *fate; i++) {
        struct rig *rig = rig_positions_on(rig_new());
        first.times = 0;
        live_open(&first.writer, rig->root, RIG_ID);
        live_line(&first.writer, "device", "job_start", 0);
        rig->answer = fail_three_times;
        rig->mark = fate[i];
        rig_start(rig);
        rig_run(rig, 60 * MINUTE_MS, false);
        assert_int_equal(first.times, 4);
        rig_same_as_file(rig, RIG_ID, "device");
        live_close(&first.writer);
        free(first.raw);
        rig_delete(rig);
    }
}

static int silent_from_the_first_part_on(struct rig *rig,
                                         const struct rig_request *request)
{
    rig->silent = rig->silent || request->kind == TRANSPORT_PARTS;
    return RIG_REGISTRY;
}

static void one_part_of_a_stream_is_under_way(void **state)
{
    (void)state;
    struct rig *rig = rig_positions_on(rig_new());
    struct live_session live;
    live_open(&live, rig->root, RIG_ID);
    rig->config.max_batch_lines = 10;
    rig->answer = silent_from_the_first_part_on;
    rig_start(rig);
    for (int n = 0; n < 100; n++) { /* it is told of each line */
        live_line(&live, "device", "x", n);
        engine_touch(rig->engine, 0, RIG_ID);
        rig_run(rig, 200, false);
    }
    assert_int_equal(rig_count(rig, TRANSPORT_PARTS), 1);
    rig->answer = NULL;
    rig->silent = false;
    rig_run(rig, 60000, false);
    assert_true(rig_count(rig, TRANSPORT_PARTS) > 9);
    rig_same_as_file(rig, RIG_ID, "device");
    live_close(&live);
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_claim_is_not_taken_where_the_answer_does_not_say_complete),
        cmocka_unit_test(an_answer_without_a_verdict_is_not_called_a_damaged_request),
        cmocka_unit_test(a_backend_without_room_is_not_said_to_have_answered_402),
        cmocka_unit_test(no_registry_is_warned_of_only_without_positions),
        cmocka_unit_test(a_session_of_which_the_ends_are_not_told_is_said_to_wait),
        cmocka_unit_test(a_session_that_is_told_to_be_expired_is_held_as_such),
        cmocka_unit_test(a_part_that_is_refused_at_its_begin_waits_by_itself),
        cmocka_unit_test(positions_without_an_epoch_are_said_to_lack_one),
        cmocka_unit_test(a_part_is_repeated_as_it_was_though_its_file_grows),
        cmocka_unit_test(one_part_of_a_stream_is_under_way),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    text_fini(&logged);
    return failed;
}
