/* SPDX-License-Identifier: Apache-2.0 */
/* What is read of lists of subordinate ids, and who has an id. SEED=n repeats a run. */
#include "tests/support/check.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/pick.h"
#include "upload/owners/subordinate.h"

#define ACCOUNTS                                                                         \
    "root:x:0:0::/:/bin/sh\n"                                                            \
    "+::::::\n"                                                                          \
    "broken:x:\n"                                                                        \
    "alice:x:1000:1000::/:/bin/sh\n"                                                     \
    "alice:x:6666:1000::/:/bin/sh\n"                                                     \
    "bob:x:1001:1001::/:/bin/sh"

static void read_ranges(const char *text, struct subordinate_ranges *out)
{
    subordinate_read(text, strlen(text), ACCOUNTS, strlen(ACCOUNTS), out);
}

static uint32_t owner_of(const struct subordinate_ranges *ranges, uint32_t uid)
{
    const struct subordinate_range *range = subordinate_find(ranges, uid);
    return range ? range->owner : 0;
}

static void each_range_is_of_its_account(void **state)
{
    (void)state;
    struct subordinate_ranges ranges;
    read_ranges("bob:165536:65536\nalice:100000:65536\n1002:231072:1\nalice:300000:5\n"
                "somebody:400000:10",
                &ranges);
    assert_int_equal(ranges.count, 5);
    assert_int_equal(owner_of(&ranges, 99999), 0);
    assert_int_equal(owner_of(&ranges, 100000), 1000);
    assert_int_equal(owner_of(&ranges, 165535), 1000);
    assert_int_equal(owner_of(&ranges, 165536), 1001);
    assert_int_equal(owner_of(&ranges, 231072), 1002);
    assert_int_equal(owner_of(&ranges, 231073), 0);
    assert_int_equal(owner_of(&ranges, 300004), 1000);
    assert_int_equal(owner_of(&ranges, 400009), SUBORDINATE_OWNER_NONE);
    assert_int_equal(owner_of(&ranges, 400010), 0);
    subordinate_free(&ranges);
}

static void lines_that_say_nothing_are_passed_over(void **state)
{
    (void)state;
    static const char *const odd[] = {
        "",
        "\n\n",
        ":",
        "::",
        ":100000:65536",
        "alice",
        "alice:100000",
        "alice:100000:",
        "alice:100000:0",
        "alice::65536",
        "alice:-1:65536",
        "alice:100000:-1",
        "alice:100000:65536:1",
        "alice:0x100:65536",
        "alice:100000:65536 ",
        "alice:4294967295:1",
        "alice:4294967296:1",
        "alice:99999999999999999999999:1",
        "alice:1:4294967297",
        "# alice:100000:65536",
    };
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        struct subordinate_ranges ranges;
        char text[128];
        snprintf(text, sizeof text, "%s\nbob:7:2\n", odd[i]);
        read_ranges(text, &ranges);
        assert_int_equal(ranges.count, 1);
        assert_int_equal(owner_of(&ranges, 8), 1001);
        subordinate_free(&ranges);
        read_ranges(odd[i], &ranges);
        assert_int_equal(ranges.count, 0);
        assert_null(subordinate_find(&ranges, 100000));
        subordinate_free(&ranges);
    }
}

static void a_range_ends_before_the_id_that_nobody_has(void **state)
{
    (void)state;
    struct subordinate_ranges ranges;
    read_ranges("alice:4294967290:4294967296", &ranges);
    assert_int_equal(owner_of(&ranges, UINT32_MAX - 1), 1000);
    assert_null(subordinate_find(&ranges, UINT32_MAX));
    subordinate_free(&ranges);
}

static void of_ranges_that_overlap_the_first_id_counts(void **state)
{
    (void)state;
    struct subordinate_ranges ranges;
    read_ranges("bob:150:100\nalice:100:100\nbob:120:10\nalice:240:20", &ranges);
    assert_int_equal(owner_of(&ranges, 125), 1000);
    assert_int_equal(owner_of(&ranges, 199), 1000);
    assert_int_equal(owner_of(&ranges, 200), 1001);
    assert_int_equal(owner_of(&ranges, 249), 1001);
    assert_int_equal(owner_of(&ranges, 250), 1000);
    assert_int_equal(owner_of(&ranges, 260), 0);
    subordinate_free(&ranges);
}

/* One list, searched as the table is and line by line. */
static void a_random_list_is_found_as_line_by_line(void **state)
{
    (void)state;
    const char *seed = getenv("SEED");
    uint64_t seeded = seed ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL);
    print_message("SEED=%llu\n", (unsigned long long)seeded);
    pick_seed(seeded);
    for (unsigned run = 0; run < 300; run++) {
        struct subordinate_ranges ranges;
        char text[2000];
        size_t len = 0;
        uint32_t first[40];
        uint32_t count[40];
        unsigned lines = (unsigned)pick(40);
        for (unsigned i = 0; i < lines; i++) {
            first[i] = (uint32_t)pick(1000);
            count[i] = 1 + (uint32_t)pick(60);
            len += (size_t)snprintf(text + len, sizeof text - len, "%u:%u:%u\n", 2000 + i,
                                    first[i], count[i]);
        }
        subordinate_read(text, len, "", 0, &ranges);
        for (uint32_t uid = 0; uid < 1100; uid++) {
            bool had = false;
            for (unsigned i = 0; i < lines; i++) {
                had = had || (uid >= first[i] && uid < first[i] + count[i]);
            }
            const struct subordinate_range *range = subordinate_find(&ranges, uid);
            assert_int_equal(range != NULL, had);
            if (range) {
                unsigned i = range->owner - 2000;
                assert_in_range(uid, first[i], first[i] + count[i] - 1);
            }
        }
        subordinate_free(&ranges);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_range_is_of_its_account),
        cmocka_unit_test(lines_that_say_nothing_are_passed_over),
        cmocka_unit_test(a_range_ends_before_the_id_that_nobody_has),
        cmocka_unit_test(of_ranges_that_overlap_the_first_id_counts),
        cmocka_unit_test(a_random_list_is_found_as_line_by_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
