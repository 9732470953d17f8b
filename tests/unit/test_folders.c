/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's lists of channels and folders. */
#include "tests/support/check.h"

#include <string.h>

#include "agent/folders.h"
#include "agent/options/option_find.h"

static void channels_are_read_from_a_list(void **state)
{
    (void)state;
    static const struct {
        char *list;
        unsigned count;
        const char *first, *last;
    } row[] = {
        {"device,scope,system,sass", 4, "device", "sass"},
        {" device , scope ", 2, "device", "scope"},
        {"device scope", 2, "device", "scope"},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct options o = {.log_types = row[i].list};
        struct engine_channels channels;
        char why[512];
        assert_int_equal(folders_read_channels(&o, &channels, why), GPUFL_OK);
        assert_int_equal(channels.count, row[i].count);
        assert_string_equal(channels.name[0], row[i].first);
        assert_string_equal(channels.name[row[i].count ? row[i].count - 1 : 0],
                            row[i].last);
    }
}

static void what_is_no_channel_is_refused_by_the_name_that_was_used(void **state)
{
    (void)state;
    static char *const list[] = {
        "",
        " , ",
        "devices",
        "device,../x",
        ",device",
        "device,",
        "device, ,scope",
        "scope,scope",
        "device scope, device",
        "a=b",
        "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    const struct option_row *row = option_of_field(offsetof(struct options, log_types));
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        struct options o = {.log_types = list[i]};
        struct engine_channels channels;
        char why[512];
        assert_int_equal(folders_read_channels(&o, &channels, why), GPUFL_ERR_USAGE);
        assert_memory_equal(why, "--log-types: invalid value '", 28);
        o.source[row - option_rows] = SOURCE_ENVIRONMENT;
        assert_int_equal(folders_read_channels(&o, &channels, why), GPUFL_ERR_USAGE);
        assert_memory_equal(why, "GPUFL_LOG_TYPES: invalid value '", 32);
    }
}

static void a_folder_that_cannot_be_listed_is_said(void **state)
{
    (void)state;
    struct selection into = {0};
    char why[512];
    assert_int_not_equal(folders_list("/nonexistent", &into, why), GPUFL_OK);
    assert_string_equal(why, "/nonexistent: No such file or directory");
}

static void no_folder_is_not_remote(void **state)
{
    (void)state;
    assert_false(folders_any_remote(NULL));
    assert_false(folders_any_remote(""));
    assert_false(folders_any_remote("/nonexistent,,/proc"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_are_read_from_a_list),
        cmocka_unit_test(what_is_no_channel_is_refused_by_the_name_that_was_used),
        cmocka_unit_test(a_folder_that_cannot_be_listed_is_said),
        cmocka_unit_test(no_folder_is_not_remote),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
