/* SPDX-License-Identifier: Apache-2.0 */
/* A journal that is read in parts says what it says as a whole, however it is damaged. */
#include "tests/support/check.h"

#include <string.h>
#include <time.h>

#include "base/crc32c.h"
#include "tests/support/pick.h"
#include "upload/journal/journal_format.h"

#define RECORDS 400u
#define ROUNDS  150u

struct file {
    unsigned char data[JOURNAL_START_MAX + RECORDS * JOURNAL_RECORD_MAX];
    size_t len;
    size_t read;
};

struct said {
    struct journal_parsed parsed;
    gpufl_status status;
    unsigned records;
    uint32_t crc; /* of all payloads */
};

static struct file file;

static void said_note(void *arg, const struct journal_record *record)
{
    struct said *said = arg;
    said->records++;
    said->crc = crc32c(said->crc, record->payload, record->len);
}

static ssize_t file_part(void *arg, unsigned char *to, size_t room)
{
    struct file *f = arg;
    size_t n = f->len - f->read < room ? f->len - f->read : room;
    memcpy(to, f->data + f->read, n);
    f->read += n;
    return (ssize_t)n;
}

/* Records of any length, as many of them as fill several windows, and free space. */
static void file_make(void)
{
    file.len = journal_format_put_start(file.data, 7, "/some/root");
    for (unsigned i = 1; i <= RECORDS; i++) {
        unsigned char payload[JOURNAL_MAX_PAYLOAD];
        size_t len = pick(2) ? pick(sizeof payload + 1) : pick(64);
        for (size_t k = 0; k < len; k++) {
            payload[k] = (unsigned char)pick(256);
        }
        file.len += journal_format_put_record(file.data + file.len, i, 1, payload, len);
    }
    size_t space = pick(3) * 100000;
    space = space < sizeof file.data - file.len ? space : 0;
    memset(file.data + file.len, 0, space);
    file.len += space;
}

static void file_damage(void)
{
    for (uint64_t left = pick(4); left > 0; left--) {
        size_t at = pick(file.len);
        size_t len = pick(3) ? 1 : pick(200000);
        len = len < file.len - at ? len : file.len - at;
        memset(file.data + at, (int)pick(256), len);
    }
    file.len -= pick(4) ? 0 : pick(file.len);
}

static void what_is_read_in_parts_is_the_same(void **state)
{
    (void)state;
    static unsigned char bytes[2 * JOURNAL_WINDOW_MIN];
    uint64_t seed = (uint64_t)time(NULL);
    print_message("seed %llu\n", (unsigned long long)seed);
    pick_seed(seed);
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct said whole = {.records = 0};
        struct said parts = {.records = 0};
        struct journal_window window = {.bytes = bytes,
                                        .room = JOURNAL_WINDOW_MIN +
                                                pick(JOURNAL_WINDOW_MIN + 1),
                                        .part = file_part,
                                        .arg = &file};
        file_make();
        file_damage();
        file.read = 0;
        whole.status =
            journal_format_parse(file.data, file.len, said_note, &whole, &whole.parsed);
        parts.status = journal_format_replay(&window, said_note, &parts, &parts.parsed);
        assert_int_equal(parts.status, whole.status);
        assert_int_equal(parts.records, whole.records);
        assert_int_equal(parts.crc, whole.crc);
        assert_string_equal(parts.parsed.root, whole.parsed.root);
        assert_true(parts.parsed.last == whole.parsed.last &&
                    parts.parsed.end == whole.parsed.end &&
                    parts.parsed.generation == whole.parsed.generation &&
                    parts.parsed.damaged == whole.parsed.damaged &&
                    parts.parsed.header_damaged == whole.parsed.header_damaged);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_in_parts_is_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
