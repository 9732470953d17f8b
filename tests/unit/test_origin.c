/* SPDX-License-Identifier: Apache-2.0 */
/* What is learned from the first answers of a backend. */
#include "tests/support/check.h"

#include "tests/support/rig.h"
#include "upload/core/origin.h"
#include "upload/http/key_check.h"

/* No answer, or one that says that it is busy: nothing is known by it. */
static bool passes(int status)
{
    return status == 0 || status == 408 || status == 425 || status == 429 ||
           (status >= 500 && status != 501);
}

/* Of something in front of it, perhaps, that refuses just now. */
static bool is_doubted(int status)
{
    return status >= 300 && status <= 499 && status != 404 && status != 405 &&
           !passes(status);
}

static void a_backend_that_is_busy_is_asked_again_what_it_declares(void **state)
{
    (void)state;
    struct sys sys = sys_real;
    struct engine_config config;
    engine_config_default(&config);
    config.sys = &sys;
    for (int status = 0; status < 600; status++) {
        struct trouble trouble = {0};
        struct origin origin = {
            .config = &config, .trouble = &trouble, .state = ORIGIN_ASKING};
        struct transport_reply reply = {.status = status, .body = ""};
        origin_on_probe(&origin, &reply, 1000);
        if ((origin.state == ORIGIN_UNASKED) != (passes(status) || is_doubted(status)) ||
            (origin.failures == 1) != passes(status) ||
            origin.declared != (status >= 200 && status <= 299)) {
            fail_msg("status %d", status);
        }
    }
}

/* After the third in a row there is no doubt, until another answer comes. */
static void only_doubts_in_a_row_are_believed(void **state)
{
    (void)state;
    struct engine_config config;
    engine_config_default(&config);
    config.sys = &sys_real;
    struct trouble trouble = {0};
    struct origin origin = {.config = &config, .trouble = &trouble};
    static const struct {
        int status; /* 200 = and a page */
        bool known;
    } row[] = {{401, false}, {403, false}, {503, false}, {401, false}, {400, false},
               {401, true},  {401, true},  {404, true},  {401, false}, {403, false},
               {401, true},  {404, true},  {200, false}, {302, false}, {200, true},
               {404, true},  {402, false}, {429, false}, {425, false}, {402, false},
               {408, false}, {402, false}, {402, false}, {402, true}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct transport_reply reply = {
            .status = row[i].status, .web_page = row[i].status == 200, .body = "<html>"};
        origin.state = ORIGIN_ASKING;
        origin_on_probe(&origin, &reply, 1000);
        if ((origin.state == ORIGIN_KNOWN) != row[i].known ||
            (!row[i].known && origin.not_before_ms > 31000)) {
            fail_msg("answer %zu", i);
        }
    }
}

/* What it declared stays; whether it has gone back is asked soon. */
static void a_doubtful_answer_changes_nothing_and_is_no_answer(void **state)
{
    (void)state;
    static const int row[] = {400, 401, 403, 408, 429};
    struct engine_config config;
    engine_config_default(&config);
    config.sys = &sys_real;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct trouble trouble = {0};
        struct origin origin = {.config = &config,
                                .trouble = &trouble,
                                .state = ORIGIN_KNOWN,
                                .declared = true,
                                .positions = true,
                                .epoch = 7};
        for (unsigned n = 1; n <= 3; n++) {
            struct transport_reply reply = {.status = row[i], .body = ""};
            origin.asks_again = true;
            origin.ask_at_ms = 601000;
            origin_on_probe(&origin, &reply, 1000);
            assert_true(origin.positions && origin.epoch == 7 && !origin.asks_again);
            assert_int_equal(origin.ask_at_ms < 32000, n < 3);
        }
    }
}

static void a_backend_that_was_not_asked_may_declare_later(void **state)
{
    (void)state;
    static const char body[] = "{\"positions\":true,\"epoch\":\"1\"}";
    struct engine_config config;
    engine_config_default(&config);
    config.sys = &sys_real;
    struct trouble trouble = {0};
    struct origin origin = {.config = &config,
                            .trouble = &trouble,
                            .state = ORIGIN_KNOWN,
                            .doubts = 3,
                            .asks_again = true};
    struct transport_reply reply = {
        .status = 200, .body = body, .body_len = sizeof body - 1};
    origin_on_probe(&origin, &reply, 1000);
    assert_true(origin.declared && origin.positions && !origin.asks_again);
}

static gpufl_status count_request(void *self, const struct transport_request *request)
{
    assert_int_equal(request->kind, TRANSPORT_PROBE);
    ++*(unsigned *)self;
    return GPUFL_OK;
}

/* Nothing else may be there to send: what the last answer said may hold all of it. */
static void a_backend_that_fails_is_asked_again_what_it_declares(void **state)
{
    (void)state;
    static const struct {
        struct origin origin;
        uint64_t now_ms;
        unsigned asked;
    } row[] = {
        {{.ask_at_ms = 600000}, 599999, 0},
        {{.ask_at_ms = 600000}, 600000, 1},
        {{.ask_at_ms = 600000, .failures = 1, .not_before_ms = 600001}, 600000, 0},
        {{.ask_at_ms = 600000, .failures = 1, .not_before_ms = 600001}, 600001, 1},
        {{.ask_at_ms = 600000, .hold = HOLD_SERVER}, 600000, 1},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        unsigned asked = 0;
        struct engine_config config;
        engine_config_default(&config);
        config.transport = (struct transport){.submit = count_request, .self = &asked};
        struct origin origin = row[i].origin;
        origin.config = &config;
        origin.state = ORIGIN_KNOWN;
        origin.declared = true;
        origin_probe(&origin, row[i].now_ms);
        origin_probe(&origin, row[i].now_ms);
        if (asked != row[i].asked) {
            fail_msg("row %zu: asked %u times", i, asked);
        }
    }
}

static void a_backend_that_is_busy_says_nothing_about_the_key(void **state)
{
    (void)state;
    for (int status = 0; status < 600; status++) {
        struct transport_reply reply = {.status = status};
        for (int kind = 0; kind < 2; kind++) {
            enum key_check check =
                key_check_of(kind ? TRANSPORT_KEY : TRANSPORT_BATCH, &reply, true);
            bool refused = status == 401 || status == 403;
            bool moved = status >= 300 && status <= 399;
            if ((check == KEY_LATER) != passes(status) ||
                (check == KEY_REFUSED) != refused || (check == KEY_MOVED) != moved) {
                fail_msg("status %d", status);
            }
        }
    }
}

/* At least a few where answers are quick, all of them once there were many. */
static void connections_are_as_many_as_pay_off(void **state)
{
    (void)state;
    static const struct {
        struct origin origin;
        unsigned slots;
    } row[] = {
        {{.successes = 0}, 4},
        {{.successes = 1249}, 4},
        {{.successes = 1250}, 5},
        {{.successes = 1000000}, TRANSPORT_SLOTS},
        {{.reply_ms = 9}, 4},
        {{.reply_ms = 10}, TRANSPORT_SLOTS},
        {{.reply_ms = 10, .failures = 1}, 1},
        {{.successes = 1000000, .hold = HOLD_AUTH}, 1},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        assert_int_equal(origin_slots(&row[i].origin), row[i].slots);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_backend_that_is_busy_is_asked_again_what_it_declares),
        cmocka_unit_test(only_doubts_in_a_row_are_believed),
        cmocka_unit_test(a_doubtful_answer_changes_nothing_and_is_no_answer),
        cmocka_unit_test(a_backend_that_was_not_asked_may_declare_later),
        cmocka_unit_test(a_backend_that_fails_is_asked_again_what_it_declares),
        cmocka_unit_test(a_backend_that_is_busy_says_nothing_about_the_key),
        cmocka_unit_test(connections_are_as_many_as_pay_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
