/* SPDX-License-Identifier: Apache-2.0 */
/* No record of a journal is applied twice, whatever its bytes came to be. */
#include "tests/support/check.h"

#include <string.h>

#include "upload/journal/journal_format.h"

/* A journal whose records have these numbers, in this order, each with its place as
 * payload. 0 = one that is damaged. */
struct file {
    unsigned char data[JOURNAL_START_MAX + 16 * JOURNAL_RECORD_MAX];
    size_t len;
    char seen[64];
    struct journal_parsed parsed;
};

static void file_begin(struct file *f)
{
    f->len = journal_format_put_start(f->data, 1, "/some/root");
    f->seen[0] = '\0';
}

static void file_put(struct file *f, uint64_t number, char payload)
{
    size_t at = f->len;
    f->len +=
        journal_format_put_record(f->data + at, number ? number : 99, 1, &payload, 1);
    if (!number) {
        f->data[at + JOURNAL_FRAME_BYTES] ^= 0x55;
    }
}

static void file_see(void *arg, const struct journal_record *record)
{
    struct file *f = arg;
    size_t len = strlen(f->seen);
    f->seen[len] = (char)record->payload[0];
    f->seen[len + 1] = '\0';
}

static void each_number_counts_once_and_in_order(void **state)
{
    (void)state;
    static const struct {
        uint64_t number[8];
        const char *seen;
        uint64_t last;
        bool damaged;
    } row[] = {
        {{1, 2, 3}, "abc", 3, false},
        {{1, 2, 2, 3}, "abd", 3, true},           /* the same again */
        {{1, 2, 3, 1, 2, 3, 4}, "abcg", 4, true}, /* as a page that was written twice */
        {{5, 6, 0, 6, 7}, "abe", 7, true},        /* an old one behind a damaged one */
        {{5, 6, 0, 4, 6}, "ab", 6, false},        /* nothing newer: a torn tail */
        {{1, 5, 9}, "abc", 9, false},             /* numbers may be left out */
    };
    static struct file f;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        file_begin(&f);
        size_t count = 0;
        for (size_t k = 0; k < 8; k++) {
            count = row[i].number[k] ? k + 1 : count;
        }
        for (size_t k = 0; k < count; k++) {
            file_put(&f, row[i].number[k], (char)('a' + k));
        }
        assert_int_equal(journal_format_parse(f.data, f.len, file_see, &f, &f.parsed),
                         GPUFL_OK);
        assert_string_equal(f.seen, row[i].seen);
        assert_int_equal(f.parsed.last, row[i].last);
        assert_int_equal(f.parsed.damaged, row[i].damaged);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_number_counts_once_and_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
