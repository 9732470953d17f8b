/* SPDX-License-Identifier: Apache-2.0 */
/* Every status has one meaning. */
#include "tests/support/check.h"

#include "upload/http/verdict.h"

static enum verdict of(int status)
{
    return verdict_of(&(struct verdict_case){.status = status, .can_split = true});
}

static void every_status_from_0_to_599(void **state)
{
    (void)state;
    for (int s = 0; s < 600; s++) {
        enum verdict want = VERDICT_HOLD_ORIGIN;
        if (s >= 200 && s <= 299) {
            want = VERDICT_ACKED;
        } else if (s == 0 || s == 408 || s == 425 || s == 429 || (s >= 500 && s != 501)) {
            want = VERDICT_RETRY;
        } else if (s == 402) {
            want = VERDICT_HOLD_SESSION;
        } else if (s == 400 || s == 413 || s == 422) {
            want = VERDICT_SPLIT;
        } else if (s == 409) {
            want = VERDICT_REFUSED_FINAL;
        } else if (s == 415) {
            want = VERDICT_PLAIN_CODEC;
        }
        assert_int_equal(of(s), want);
    }
}

static void what_is_known_decides_the_rest(void **state)
{
    (void)state;
    static const struct {
        struct verdict_case c;
        enum verdict want;
    } row[] = {
        {{.status = 413}, VERDICT_QUARANTINE},
        {{.status = 400}, VERDICT_QUARANTINE},
        {{.status = 422}, VERDICT_QUARANTINE},
        {{.status = 409, .identity_conflict = true}, VERDICT_QUARANTINE},
        {{.status = 409, .identity_conflict = true, .encoding_changed = true},
         VERDICT_ACKED},
        {{.status = 409, .sequence_conflict = true}, VERDICT_QUARANTINE},
        {{.status = 409, .sequence_conflict = true, .maybe_stored = true},
         VERDICT_QUARANTINE},
        {{.status = 409, .maybe_stored = true}, VERDICT_ACKED},
        {{.status = 415, .is_plain_codec = true}, VERDICT_HOLD_ORIGIN},
        {{.status = 501}, VERDICT_HOLD_ORIGIN},
        {{.status = 200, .web_page = true}, VERDICT_HOLD_ORIGIN},
        {{.status = 307}, VERDICT_HOLD_ORIGIN},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        assert_int_equal(verdict_of(&row[i].c), row[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_from_0_to_599),
        cmocka_unit_test(what_is_known_decides_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
