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
        if ((origin.state == ORIGIN_UNASKED) != passes(status) ||
            (origin.failures == 1) != passes(status) ||
            origin.declared != (status >= 200 && status <= 299)) {
            fail_msg("status %d", status);
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
        cmocka_unit_test(a_backend_that_is_busy_says_nothing_about_the_key),
        cmocka_unit_test(connections_are_as_many_as_pay_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
