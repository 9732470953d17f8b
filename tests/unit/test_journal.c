/* SPDX-License-Identifier: Apache-2.0 */
/* The journal survives truncation and damage at every byte. */
#include "tests/support/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "tests/support/dirs.h"
#include "upload/journal/journal_format.h"
#include "upload/journal/journal_records.h"

/* Of a journal of the root "/some/root": a page with one header, and the second one. */
#define HEADER (24u + 16u)
#define SECOND 4096u
#define START  (SECOND + HEADER)

struct seen {
    uint32_t type[64];
    char text[64][32];
    size_t count;
};

static void see(void *arg, const struct journal_record *record)
{
    struct seen *seen = arg;
    assert_true(seen->count < 64 && record->len < 32);
    seen->type[seen->count] = record->type;
    memcpy(seen->text[seen->count], record->payload, record->len);
    seen->text[seen->count++][record->len] = '\0';
}

struct place {
    char *dir;
    int fd;
    struct sys sys;
    struct journal_config config;
};

static void no_state(void *arg)
{
    (void)arg;
}

static void open_place(struct place *p)
{
    memset(p, 0, sizeof *p);
    p->dir = dirs_make();
    p->fd = open(p->dir, O_RDONLY | O_DIRECTORY);
    p->sys = sys_real;
    p->config = (struct journal_config){.sys = &p->sys,
                                        .syncer = syncer_inline(&p->sys),
                                        .dir = p->fd,
                                        .name = "journal",
                                        .root = "/some/root",
                                        .rewrite_bytes = 1 << 20,
                                        .state = no_state};
}

static void close_place(struct place *p)
{
    close(p->fd);
    dirs_remove(p->dir);
}

static struct journal *open_journal(struct place *p, struct seen *seen)
{
    struct journal *journal;
    memset(seen, 0, sizeof *seen);
    assert_int_equal(journal_open(&p->config, see, seen, &journal), GPUFL_OK);
    return journal;
}

/* A journal of \p count records; its bytes, malloc'd. */
static unsigned char *records(struct place *p, int count, size_t *len)
{
    struct seen seen;
    char path[512];
    struct journal *journal = open_journal(p, &seen);
    assert_true(journal_is_new(journal));
    assert_int_equal(journal_rewrite(journal), GPUFL_OK);
    for (int i = 0; i < count; i++) {
        char text[24];
        snprintf(text, sizeof text, "record %d", i);
        assert_true(journal_append(journal, JOURNAL_DONE, text, strlen(text)) > 0);
    }
    journal_pump(journal);
    assert_int_equal(journal_durable(journal), journal_last(journal));
    journal_close(journal);
    snprintf(path, sizeof path, "%s/journal", p->dir);
    struct stat st;
    int fd = open(path, O_RDONLY);
    assert_int_equal(fstat(fd, &st), 0);
    unsigned char *data = malloc((size_t)st.st_size);
    assert_int_equal(read(fd, data, (size_t)st.st_size), st.st_size);
    close(fd);
    *len = (size_t)st.st_size;
    return data;
}

static void records_come_back_in_order(void **state)
{
    (void)state;
    struct place p;
    struct seen seen;
    size_t len;
    open_place(&p);
    free(records(&p, 5, &len));
    struct journal *journal = open_journal(&p, &seen);
    assert_false(journal_is_new(journal) || journal_was_damaged(journal));
    assert_int_equal(seen.count, 5);
    assert_string_equal(seen.text[4], "record 4");
    journal_close(journal);
    close_place(&p);
}

static size_t parse(const unsigned char *data, size_t len, struct seen *seen,
                    bool *damaged)
{
    struct journal_parsed parsed;
    memset(seen, 0, sizeof *seen);
    gpufl_status status = journal_format_parse(data, len, see, seen, &parsed);
    *damaged = parsed.damaged;
    assert_true(status != GPUFL_OK || parsed.end <= len);
    return status == GPUFL_OK ? seen->count : 99;
}

static void a_torn_tail_is_cut_at_every_byte(void **state)
{
    (void)state;
    struct place p;
    struct seen seen;
    size_t len;
    size_t best = 0;
    bool damaged;
    open_place(&p);
    unsigned char *data = records(&p, 5, &len);
    for (size_t cut = 0; cut < START + 600; cut++) {
        unsigned char *copy =
            malloc(cut ? cut : 1); /* exact size: a sanitizer sees over-reads */
        memcpy(copy, data, cut);
        size_t count = parse(copy, cut, &seen, &damaged);
        assert_true(count == 99 || (count >= best && count <= 5 && !damaged));
        best = count == 99 ? best : count;
        for (size_t i = 0; count != 99 && i < count; i++) {
            assert_int_equal(seen.text[i][7], '0' + (int)i);
        }
        free(copy);
    }
    assert_int_equal(best, 5);
    free(data);
    close_place(&p);
}

static void a_flipped_byte_costs_one_record_at_most(void **state)
{
    (void)state;
    struct place p;
    struct seen seen;
    size_t len;
    bool damaged;
    open_place(&p);
    unsigned char *data = records(&p, 5, &len);
    for (size_t at = START; at < START + 5 * 40 && at < len; at++) {
        data[at] ^= 0x55;
        size_t count = parse(data, len, &seen, &damaged);
        assert_in_range(count, 4, 5);
        data[at] ^= 0x55;
    }
    free(data);
    close_place(&p);
}

static void count_one(void *arg, const struct journal_record *record)
{
    (void)record;
    ++*(int *)arg;
}

static void a_zeroed_page_costs_its_own_records(void **state)
{
    (void)state;
    enum { PAGE = 4096, RECORDS = 500, A_PAGE = PAGE / 40 + 2 };
    struct place p;
    size_t len;
    struct journal_parsed parsed;
    open_place(&p);
    unsigned char *data = records(&p, RECORDS, &len);
    for (size_t at = 0; at + PAGE <= len && at < START + RECORDS * 40; at += PAGE) {
        unsigned char page[PAGE];
        int found = 0;
        memcpy(page, data + at, PAGE);
        memset(data + at, 0, PAGE);
        assert_int_equal(journal_format_parse(data, len, count_one, &found, &parsed),
                         GPUFL_OK);
        assert_in_range(found, RECORDS - A_PAGE, RECORDS - (at > 0));
        assert_true(parsed.damaged || at == 0 || at + PAGE > START + RECORDS * 40);
        assert_int_equal(parsed.header_damaged, at <= SECOND);
        memcpy(data + at, page, PAGE);
    }
    memset(data, 0, PAGE + HEADER); /* without a header it is none: what it held comes
                                       from elsewhere */
    assert_int_equal(journal_format_parse(data, len, count_one, &(int){0}, &parsed),
                     GPUFL_ERR_FORMAT);
    free(data);
    close_place(&p);
}

static void a_damaged_journal_is_kept_aside_and_goes_on(void **state)
{
    (void)state;
    struct place p;
    struct seen seen;
    size_t len;
    char path[512];
    open_place(&p);
    unsigned char *data = records(&p, 5, &len);
    data[START + 40 + 30] ^= 0xff; /* in the second record */
    snprintf(path, sizeof path, "%s/journal", p.dir);
    int fd = open(path, O_WRONLY);
    assert_int_equal(write(fd, data, len), len);
    close(fd);
    struct journal *journal = open_journal(&p, &seen);
    assert_true(journal_was_damaged(journal));
    assert_int_equal(seen.count, 4);
    assert_int_equal(journal_rewrite(journal), GPUFL_OK);
    journal_close(journal);
    snprintf(path, sizeof path, "ls %s | grep -q corrupt", p.dir);
    assert_int_equal(system(path), 0);
    free(data);
    close_place(&p);
}

/* Says in both headers that the format is newer. */
static void make_newer(unsigned char *data, bool intact)
{
    for (size_t at = 0; at <= SECOND; at += SECOND) {
        data[at + 8] = JOURNAL_FORMAT_VERSION + 1;
        struct bytes crc = {.at = data + at + 20, .left = 4};
        if (intact) {
            bytes_put_uint(&crc, crc32c(crc32c(0, data + at, 20), "/some/root", 10), 4);
        }
    }
}

static void a_newer_format_is_refused_and_left_alone(void **state)
{
    (void)state;
    for (int intact = 0; intact < 2; intact++) { /* a newer format may have others */
        struct place p;
        struct seen seen = {.count = 0};
        size_t len;
        size_t left;
        char path[512];
        char *is;
        struct journal *journal;
        open_place(&p);
        unsigned char *data = records(&p, 5, &len);
        make_newer(data, intact);
        snprintf(path, sizeof path, "%s/journal", p.dir);
        int fd = open(path, O_WRONLY);
        assert_int_equal(write(fd, data, len), len);
        close(fd);
        assert_int_equal(journal_open(&p.config, see, &seen, &journal), GPUFL_ERR_FORMAT);
        assert_null(journal);
        assert_int_equal(seen.count, 0);
        assert_int_equal(file_read(&sys_real, p.fd, "journal", len, &is, &left),
                         GPUFL_OK);
        assert_int_equal(left, len);
        assert_memory_equal(is, data, len);
        free(is);
        free(data);
        close_place(&p);
    }
}

static void a_flipped_byte_in_a_header_costs_nothing(void **state)
{
    (void)state;
    struct place p;
    struct seen seen;
    struct journal_parsed parsed;
    size_t len;
    open_place(&p);
    unsigned char *data = records(&p, 5, &len);
    for (size_t at = 0; at < START; at += at == HEADER ? SECOND - HEADER : 1) {
        data[at] ^= 0x55;
        memset(&seen, 0, sizeof seen);
        assert_int_equal(journal_format_parse(data, len, see, &seen, &parsed), GPUFL_OK);
        assert_int_equal(seen.count, 5);
        assert_false(parsed.damaged);
        assert_true(parsed.header_damaged || at % SECOND >= HEADER - 6); /* padding */
        assert_string_equal(parsed.root, "/some/root");
        data[at] ^= 0x55;
    }
    free(data);
    close_place(&p);
}

static void a_root_with_the_longest_name_has_two_headers(void **state)
{
    (void)state;
    static unsigned char data[JOURNAL_START_MAX];
    static char root[JOURNAL_ROOT_MAX + 2];
    struct seen seen = {.count = 0};
    struct journal_parsed parsed;
    memset(root, 'r', JOURNAL_ROOT_MAX);
    size_t len = journal_format_put_start(data, 7, root);
    assert_in_range(len, 1, sizeof data);
    for (size_t at = 0; at < len; at += 64) {
        data[at] ^= 0x55;
        assert_int_equal(journal_format_parse(data, len, see, &seen, &parsed), GPUFL_OK);
        assert_int_equal(parsed.generation, 7);
        assert_int_equal(parsed.end, len);
        data[at] ^= 0x55;
    }
    root[JOURNAL_ROOT_MAX] = 'r';
    assert_int_equal(journal_format_put_start(data, 7, root), 0);
}

/* As the first version wrote it: one header. */
static void a_journal_of_the_version_before_is_read(void **state)
{
    (void)state;
    static unsigned char data[HEADER + 3 * JOURNAL_RECORD_MAX];
    struct bytes b = {.at = data, .left = HEADER};
    struct seen seen = {.count = 0};
    struct journal_parsed parsed;
    bytes_put(&b, JOURNAL_FILE_MAGIC, 8);
    bytes_put_uint(&b, 1, 4);
    bytes_put_uint(&b, 3, 4);
    bytes_put_uint(&b, 10, 4);
    bytes_put_uint(&b, crc32c(crc32c(0, data, 20), "/some/root", 10), 4);
    bytes_put(&b, "/some/root", 10);
    size_t len = HEADER;
    for (uint64_t number = 1; number <= 3; number++) {
        len += journal_format_put_record(data + len, number, JOURNAL_DONE, "old", 3);
    }
    assert_int_equal(journal_format_parse(data, len, see, &seen, &parsed), GPUFL_OK);
    assert_int_equal(seen.count, 3);
    assert_int_equal(parsed.generation, 3);
    assert_false(parsed.damaged || parsed.header_damaged);
    data[HEADER - 10] ^= 1; /* it has no other */
    assert_int_equal(journal_format_parse(data, len, see, &seen, &parsed),
                     GPUFL_ERR_FORMAT);
    assert_false(journal_format_is_newer(data, len));
}

static int sync_error;
static int failing_sync(int fd)
{
    if (sync_error) {
        errno = sync_error;
        return -1;
    }
    return fdatasync(fd);
}

static void after_a_failed_sync_nothing_counts_until_it_is_written_anew(void **state)
{
    (void)state;
    struct place p;
    struct seen seen;
    open_place(&p);
    p.sys.fdatasync = failing_sync;
    struct journal *journal = open_journal(&p, &seen);
    assert_int_equal(journal_rewrite(journal), GPUFL_OK);
    sync_error = EIO;
    uint64_t ticket = journal_append(journal, JOURNAL_DONE, "x", 1);
    journal_pump(journal);
    assert_true(journal_broken(journal));
    assert_true(journal_durable(journal) < ticket);
    assert_int_equal(journal_append(journal, JOURNAL_DONE, "y", 1), 0);
    sync_error = 0;
    assert_int_equal(journal_rewrite(journal), GPUFL_OK);
    assert_false(journal_broken(journal));
    assert_true(journal_append(journal, JOURNAL_DONE, "z", 1) > ticket);
    journal_close(journal);
    close_place(&p);
}

/* A disk whose syncs end when the test says so. */
struct slow_disk {
    struct sync_job *job;
};

static void hold_sync(void *self, struct sync_job *job)
{
    struct slow_disk *disk = self;
    assert_null(disk->job);
    disk->job = job;
}

static void end_sync(void *self, struct sync_job *job)
{
    struct slow_disk *disk = self;
    assert_ptr_equal(disk->job, job);
    disk->job = NULL;
    job->error = sync_now(&sys_real, job);
    atomic_store(&job->finished, true);
}

static void one_record(void *arg)
{
    struct journal **journal = arg;
    assert_true(journal_append(*journal, JOURNAL_DONE, "state", 5) > 0);
}

/* What a process that starts now would read. */
static void expect_on_disk(struct place *p, const char *const *text, size_t count)
{
    struct seen seen;
    struct journal *journal = open_journal(p, &seen);
    assert_int_equal(seen.count, count);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(seen.text[i], text[i]);
    }
    journal_close(journal);
}

static void writing_it_anew_waits_for_no_sync(void **state)
{
    (void)state;
    struct place p;
    struct seen seen;
    struct slow_disk disk = {NULL};
    struct journal *journal;
    open_place(&p);
    p.config.state = one_record;
    p.config.arg = &journal;
    p.config.rewrite_bytes = 64;
    p.config.syncer =
        (struct syncer){.start = hold_sync, .finish = end_sync, .self = &disk};
    journal = open_journal(&p, &seen);
    assert_int_equal(journal_rewrite(journal), GPUFL_OK);
    uint64_t before = 0;
    for (int i = 0; i < 10; i++) {
        before = journal_append(journal, JOURNAL_DONE, "x", 1);
    }
    journal_pump(journal); /* most of it is history: begins, and returns */
    assert_non_null(disk.job);
    assert_true(journal_durable(journal) < before);
    uint64_t during = journal_append(journal, JOURNAL_DONE, "during", 6);
    assert_true(during > before);
    journal_pump(journal);
    static const char *const old[] = {"state", "x", "x", "x", "x", "x",
                                      "x",     "x", "x", "x", "x", "during"};
    expect_on_disk(&p, old, 12);
    end_sync(&disk, disk.job);
    journal_pump(journal); /* takes the place; now the directory is synced */
    static const char *const now[] = {"state", "during"};
    expect_on_disk(&p, now, 2);
    assert_true(journal_durable(journal) < before);
    end_sync(&disk, disk.job);
    journal_pump(journal);
    assert_true(journal_durable(journal) >= before && journal_durable(journal) < during);
    end_sync(&disk, disk.job); /* of the record that came in between */
    journal_pump(journal);
    assert_int_equal(journal_durable(journal), journal_last(journal));
    assert_null(disk.job);
    journal_close(journal);
    close_place(&p);
}

static struct journal_record last_record;
static unsigned char last_payload[JOURNAL_MAX_PAYLOAD];
static void keep_last(void *arg, const struct journal_record *record)
{
    (void)arg;
    memcpy(last_payload, record->payload, record->len);
    last_record = *record;
    last_record.payload = last_payload;
}

static void same_offer(const struct record_offer *a, const struct record_offer *b)
{
    assert_int_equal(a->stream, b->stream);
    assert_int_equal(a->sequence, b->sequence);
    assert_memory_equal(a->id, b->id, sizeof a->id);
    assert_int_equal(a->file, b->file);
    assert_true(a->begin == b->begin && a->end == b->end && a->head == b->head);
    assert_int_equal(a->lines, b->lines);
    assert_int_equal(a->codec, b->codec);
    assert_int_equal(a->level, b->level);
    assert_int_equal(a->parameter_set, b->parameter_set);
    assert_int_equal(a->library, b->library);
    assert_int_equal(a->unterminated, b->unterminated);
    assert_int_equal(a->encoding_changed, b->encoding_changed);
    assert_true(a->whole_end == b->whole_end && a->whole_lines == b->whole_lines);
    assert_int_equal(a->sent, b->sent);
    assert_int_equal(a->mark.bytes, b->mark.bytes);
    assert_int_equal(a->mark.crc32, b->mark.crc32);
}

static void records_are_read_back_as_written(void **state)
{
    (void)state;
    struct place p;
    struct journal *journal;
    struct record_offer offer = {.stream = 7,
                                 .sequence = 9,
                                 .file = 3,
                                 .begin = 1ull << 40,
                                 .end = (1ull << 40) + 5,
                                 .lines = 2,
                                 .codec = 2,
                                 .level = 1,
                                 .parameter_set = 1,
                                 .library = 10504,
                                 .unterminated = 1,
                                 .encoding_changed = 1,
                                 .head = 1ull << 63 | 5,
                                 .whole_end = 1ull << 41,
                                 .whole_lines = 8,
                                 .sent = OFFER_NOT_SENT,
                                 .mark = {.bytes = 5, .crc32 = 6}};
    struct record_quarantine q = {.stream = 7, .status = -1, .reason = "why", .end = 4};
    struct record_offer offer_back;
    struct record_quarantine q_back;
    open_place(&p);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(journal_open(&p.config, keep_last, NULL, &journal), GPUFL_OK);
        if (round == 1) {
            assert_true(record_parse_offer(&last_record, &offer_back));
            same_offer(&offer, &offer_back);
            last_record.len -= 4 + 4; /* as it was written before marks were */
            assert_true(record_parse_offer(&last_record, &offer_back));
            assert_int_equal(offer_back.sent, OFFER_NOT_SENT);
            assert_int_equal(offer_back.mark.bytes, 0);
            last_record.len -= 1; /* and before attempts were */
            assert_true(record_parse_offer(&last_record, &offer_back));
            assert_int_equal(offer_back.sent, OFFER_SENT_UNKNOWN);
            last_record.len -= 8 + 4; /* as it was written before wholes were */
            assert_true(record_parse_offer(&last_record, &offer_back));
            assert_true(offer_back.head == offer.head && offer_back.whole_end == 0);
            last_record.len -= 8; /* and before heads were */
            assert_true(record_parse_offer(&last_record, &offer_back));
            assert_true(offer_back.head == 0 && offer_back.encoding_changed == 1);
        }
        assert_int_equal(journal_rewrite(journal), GPUFL_OK);
        assert_true(record_append_offer(journal, &offer) > 0);
        journal_close(journal);
    }
    assert_int_equal(journal_open(&p.config, keep_last, NULL, &journal), GPUFL_OK);
    assert_int_equal(journal_rewrite(journal), GPUFL_OK);
    assert_true(record_append_quarantine(journal, &q) > 0);
    journal_close(journal);
    assert_int_equal(journal_open(&p.config, keep_last, NULL, &journal), GPUFL_OK);
    assert_true(record_parse_quarantine(&last_record, &q_back));
    assert_int_equal(q_back.status, -1);
    assert_string_equal(q_back.reason, "why");
    last_record.len -= 1; /* a record that is too short is no record */
    assert_false(record_parse_quarantine(&last_record, &q_back));
    journal_close(journal);
    close_place(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_come_back_in_order),
        cmocka_unit_test(a_torn_tail_is_cut_at_every_byte),
        cmocka_unit_test(a_flipped_byte_costs_one_record_at_most),
        cmocka_unit_test(a_zeroed_page_costs_its_own_records),
        cmocka_unit_test(a_damaged_journal_is_kept_aside_and_goes_on),
        cmocka_unit_test(a_newer_format_is_refused_and_left_alone),
        cmocka_unit_test(a_flipped_byte_in_a_header_costs_nothing),
        cmocka_unit_test(a_root_with_the_longest_name_has_two_headers),
        cmocka_unit_test(a_journal_of_the_version_before_is_read),
        cmocka_unit_test(after_a_failed_sync_nothing_counts_until_it_is_written_anew),
        cmocka_unit_test(writing_it_anew_waits_for_no_sync),
        cmocka_unit_test(records_are_read_back_as_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
