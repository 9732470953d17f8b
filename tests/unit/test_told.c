/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a lock file, which anybody may have planted. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "upload/source/told.h"

#define BOOT "00000001-0001-4000-8000-000000000000"

/* Of its exact size, so that a byte behind it is seen to be read. */
static gpufl_status parse(const char *text, struct active_files *out)
{
    size_t len = strlen(text);
    char *exact = malloc(len + !len);
    assert_non_null(exact);
    memcpy(exact, text, len);
    gpufl_status status = active_files_parse(exact, len, out);
    free(exact);
    return status;
}

static void parse_with_crc(const char *members, struct active_files *out)
{
    char text[LAYOUT_TOLD_BYTES + 1];
    int len = snprintf(text, sizeof text, "{%s", members);
    snprintf(text + len, sizeof text - (size_t)len, LAYOUT_TOLD_CRC "%u}  \n",
             crc32c(0, text, (size_t)len));
    assert_int_equal(parse(text, out), GPUFL_OK);
}

static void what_a_writer_tells_is_read(void **state)
{
    (void)state;
    struct active_files told;
    parse_with_crc("\"boot_id\":\"" BOOT "\",\"lock_file\":\"2049:131\","
                   "\"active\":{\"device\":4,\"scope\":1,\"later\":7},"
                   "\"bytes\":{\"device\":7310,\"scope\":5},"
                   "\"before\":{\"device\":7102},\"inodes\":{\"device\":140}",
                   &told);
    assert_string_equal(told.boot_id, BOOT);
    assert_string_equal(told.lock_file, "2049:131");
    assert_int_equal(told.number[CHANNEL_DEVICE], 4);
    assert_int_equal(told.number[CHANNEL_SCOPE], 1);
    assert_int_equal(told.number[CHANNEL_SYSTEM], 0);
    assert_int_equal(told.bytes[CHANNEL_DEVICE], 7310);
    assert_int_equal(told.least[CHANNEL_DEVICE], 7102);
    assert_int_equal(told.least[CHANNEL_SCOPE], 5);
    assert_int_equal(told.bytes[CHANNEL_SYSTEM], -1);
    assert_int_equal(told.least[CHANNEL_SYSTEM], -1);
    assert_int_equal(told.inode[CHANNEL_DEVICE], 140);
    assert_int_equal(told.inode[CHANNEL_SCOPE], -1);
}

static void sizes_and_inodes_count_only_with_their_checksum(void **state)
{
    (void)state;
    struct active_files told;
    assert_int_equal(parse("{\"active\":{\"device\":4},\"bytes\":{\"device\":9},"
                           "\"before\":{},\"inodes\":{\"device\":140},\"crc32c\":1}",
                           &told),
                     GPUFL_OK);
    assert_int_equal(told.number[CHANNEL_DEVICE], 4);
    assert_int_equal(told.bytes[CHANNEL_DEVICE], 9);
    assert_int_equal(told.least[CHANNEL_DEVICE], -1);
    assert_int_equal(told.inode[CHANNEL_DEVICE], -1);
}

static void earlier_writers_tell_less(void **state)
{
    (void)state;
    struct active_files told;
    parse_with_crc("\"active\":{\"device\":4},\"bytes\":{\"device\":9},\"before\":[1],"
                   "\"inodes\":7",
                   &told);
    assert_int_equal(told.least[CHANNEL_DEVICE], -1);
    assert_int_equal(told.inode[CHANNEL_DEVICE], -1);
    assert_int_equal(parse(" { \"active\" : { \"device\" : 4 } } \n", &told), GPUFL_OK);
    assert_int_equal(told.number[CHANNEL_DEVICE], 4);
    assert_int_equal(told.bytes[CHANNEL_DEVICE], -1);
    assert_string_equal(told.boot_id, "");
    assert_string_equal(told.lock_file, "");
}

static void a_number_that_is_none_is_not_told(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "0",     "-1",         "1.5",        "1e3",
        "\"4\"", "null",       "true",       "{\"a\":4}",
        "[4]",   "NaN",        "4e0",        "1000000000",
        "-0",    "9999999999", "4294967300", "99999999999999999999"};
    struct active_files told;
    char text[100];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(text, sizeof text, "{\"active\":{\"device\":%s,\"sass\":3}}", bad[i]);
        assert_int_equal(parse(text, &told), GPUFL_OK);
        assert_int_equal(told.number[CHANNEL_DEVICE], 0);
        assert_int_equal(told.number[CHANNEL_SASS], 3);
    }
}

static void what_does_not_fit_is_cut(void **state)
{
    (void)state;
    struct active_files told;
    char text[300];
    snprintf(text, sizeof text,
             "{\"active\":{},\"boot_id\":\"%0100d\",\"lock_file\":\"%0100d\"}", 7, 7);
    assert_int_equal(parse(text, &told), GPUFL_OK);
    assert_int_equal(strlen(told.boot_id), sizeof told.boot_id - 1);
    assert_int_equal(strlen(told.lock_file), sizeof told.lock_file - 1);
}

static void what_is_no_such_text_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "{}",
        "[]",
        "{\"active\":4}",
        "{\"active\":\"{}\"}",
        "{\"bytes\":{}}",
        "{\"active\":{}",
        "{\"active\":{}}}",
        "{\"active\":{}} x",
        "{\"active\":{},}",
        "{\"active\":{\"device\":04}}",
        "{\"active\":{},\"active\":{}}",
        "{\"active\":{},\"x\":1,\"y\":2,\"x\":3}",
        "{\"active\":{},\"\\u0078\":1}",
        "{\"active\":{},\"lock_file\":\"lo\nst\"}",
        "{\"active\":{},\"a\":[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]}",
    };
    struct active_files told;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (parse(bad[i], &told) == GPUFL_OK) {
            fail_msg("'%s' is taken", bad[i]);
        }
    }
}

/* As many as fit, and a text that no reader asks for. */
static void many_members_are_read_and_a_longer_text_is_not(void **state)
{
    (void)state;
    struct active_files told;
    char text[LAYOUT_TOLD_BYTES + 2];
    for (size_t room = LAYOUT_TOLD_BYTES; room <= LAYOUT_TOLD_BYTES + 1; room++) {
        size_t len = (size_t)snprintf(text, sizeof text, "{\"\":1,\"active\":{}");
        for (char c = '0'; len + 9 < room; c++) {
            c = c == '\\' ? ']' : c;
            len += (size_t)snprintf(text + len, sizeof text - len, ",\"%c\":1", c);
        }
        snprintf(text + len, sizeof text - len, "%*s}", (int)(room - len - 1), "");
        assert_int_equal(strlen(text), room);
        assert_int_equal(parse(text, &told),
                         room > LAYOUT_TOLD_BYTES ? GPUFL_ERR_FORMAT : GPUFL_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_writer_tells_is_read),
        cmocka_unit_test(sizes_and_inodes_count_only_with_their_checksum),
        cmocka_unit_test(earlier_writers_tell_less),
        cmocka_unit_test(a_number_that_is_none_is_not_told),
        cmocka_unit_test(what_does_not_fit_is_cut),
        cmocka_unit_test(what_is_no_such_text_is_refused),
        cmocka_unit_test(many_members_are_read_and_a_longer_text_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
