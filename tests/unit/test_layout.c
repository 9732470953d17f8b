/* SPDX-License-Identifier: Apache-2.0 */
/* Names are made and classified one way only. */
#include "tests/support/check.h"

#include <string.h>

#include "schema/layout.h"

static void every_name_is_classified(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum layout_kind kind;
        const char *channel;
        uint32_t number;
        bool gz;
    } row[] = {
        {"device.log", LAYOUT_ACTIVE, "device", 0, false},
        {"device.log.gz", LAYOUT_ACTIVE, "device", 0, true},
        {"system.17.log", LAYOUT_NUMBERED, "system", 17, false},
        {"sass.1.log.gz", LAYOUT_NUMBERED, "sass", 1, true},
        {"a-b_9.999999999.log", LAYOUT_NUMBERED, "a-b_9", 999999999, false},
        {".gpufl-window.scope.3.json", LAYOUT_SIDECAR, "scope", 3, false},
        {".gpufl-next.scope.3", LAYOUT_NEXT, "scope", 3, false},
        {".gpufl-session.json", LAYOUT_IS_MANIFEST, "", 0, false},
        {".gpufl-session.lock", LAYOUT_IS_LOCK, "", 0, false},
        {".gpufl-transport-loss.spool.0.json", LAYOUT_LOSS, "", 0, false},
        {".tmp", LAYOUT_IS_TMP, "", 0, false},
        {".gpufl-window.scope.json", LAYOUT_OTHER, NULL, 0, false},
        {".gpufl-window.scope.0.json", LAYOUT_OTHER, NULL, 0, false},
        {".gpufl-window.", LAYOUT_OTHER, NULL, 0, false},
        {".gpufl-next.scope", LAYOUT_OTHER, NULL, 0, false},
        {".gpufl-next.scope.0", LAYOUT_OTHER, NULL, 0, false},
        {".gpufl-next.scope.3.json", LAYOUT_OTHER, NULL, 0, false},
        {".gpufl-next.", LAYOUT_OTHER, NULL, 0, false},
        {"device.0.log", LAYOUT_OTHER, NULL, 0, false},
        {"device.01.log", LAYOUT_OTHER, NULL, 0, false},
        {"device.1000000000.log", LAYOUT_OTHER, NULL, 0, false},
        {"device.-1.log", LAYOUT_OTHER, NULL, 0, false},
        {"device.1.2.log", LAYOUT_OTHER, NULL, 0, false},
        {"device.1.log.gz.part", LAYOUT_OTHER, NULL, 0, false},
        {"dev ice.log", LAYOUT_OTHER, NULL, 0, false},
        {".log", LAYOUT_OTHER, NULL, 0, false},
        {"log", LAYOUT_OTHER, NULL, 0, false},
        {"", LAYOUT_OTHER, NULL, 0, false},
        {"abcdefghijklmnopqrstuvwxyz012345.log", LAYOUT_OTHER, NULL, 0, false},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct layout_name got = layout_parse(row[i].name);
        assert_int_equal(got.kind, row[i].kind);
        if (row[i].channel && *row[i].channel) {
            assert_string_equal(got.channel, row[i].channel);
            assert_int_equal(got.number, row[i].number);
            assert_int_equal(got.gz, row[i].gz);
        }
    }
}

static void made_names_are_read_back(void **state)
{
    (void)state;
    char name[LAYOUT_PATH_MAX];
    layout_numbered(name, "device", 12, true);
    assert_string_equal(name, "device.12.log.gz");
    assert_int_equal(layout_parse(name).number, 12);
    layout_numbered(name, "device", LAYOUT_NUMBER_MAX, false);
    assert_string_equal(name, "device.999999999.log");
    layout_active(name, "scope", false);
    assert_string_equal(name, "scope.log");
    layout_active(name, "scope", true);
    assert_string_equal(name, "scope.log.gz");
    layout_loss(name, "spool", 0);
    assert_string_equal(name, ".gpufl-transport-loss.spool.0.json");
    layout_ack(name, "sass", 100);
    assert_string_equal(name, ".gpufl-window-ack.sass.100");
    layout_sidecar(name, "sass", 4);
    assert_string_equal(name, ".gpufl-window.sass.4.json");
    assert_int_equal(layout_parse(name).kind, LAYOUT_SIDECAR);
    layout_next(name, "sass", 5);
    assert_string_equal(name, ".gpufl-next.sass.5");
    assert_int_equal(layout_parse(name).number, 5);
}

static void a_name_is_cut_where_its_room_ends(void **state)
{
    (void)state;
    char name[LAYOUT_PATH_MAX + 1];
    char channel[LAYOUT_PATH_MAX];
    memset(channel, 'a', sizeof channel);
    channel[sizeof channel - 3] = '\0';
    name[LAYOUT_PATH_MAX] = '#';
    layout_numbered(name, channel, 12, true);
    assert_int_equal(strlen(name), LAYOUT_PATH_MAX - 1);
    assert_string_equal(name + LAYOUT_PATH_MAX - 4, "a.1");
    assert_int_equal(name[LAYOUT_PATH_MAX], '#');
}

static void a_lock_file_is_named_by_its_device_and_inode(void **state)
{
    (void)state;
    char name[LAYOUT_LOCK_FILE_TEXT];
    layout_lock_file(name, 2049, 0);
    assert_string_equal(name, "2049:0");
    layout_lock_file(name, UINT64_MAX, UINT64_MAX);
    assert_string_equal(name, "18446744073709551615:18446744073709551615");
}

static void only_safe_names_become_paths_and_headers(void **state)
{
    (void)state;
    char long_name[LAYOUT_NAME_MAX + 2];
    memset(long_name, 'a', sizeof long_name);
    long_name[LAYOUT_NAME_MAX + 1] = '\0';
    assert_false(layout_name_ok(long_name));
    long_name[LAYOUT_NAME_MAX] = '\0';
    assert_true(layout_name_ok(long_name));
    static const char *const bad[] = {"",    ".",   "..",     ".x",
                                      "a/b", "a b", "a\r\nb", "\xc3\xa4"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(layout_name_ok(bad[i]));
    }
    assert_true(layout_name_ok("9f3a1c2e-7d44-4c1b-8a90-52f6f0a7b3d1"));
    assert_false(layout_channel_ok("a.b"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_is_classified),
        cmocka_unit_test(made_names_are_read_back),
        cmocka_unit_test(a_name_is_cut_where_its_room_ends),
        cmocka_unit_test(a_lock_file_is_named_by_its_device_and_inode),
        cmocka_unit_test(only_safe_names_become_paths_and_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
