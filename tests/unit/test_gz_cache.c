/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed files, read in batches that go back a little each time. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "tests/support/dirs.h"
#include "tests/support/gz_costly.h"
#include "upload/source/gz_cache.h"
#include "upload/source/gz_decoder.h"
#include "upload/source/gz_file.h"

#define CONTENT (3u << 20)
#define BATCH   (64u << 10)

#define MARK 4096u

/* What is random compresses badly, so that the input is read in many pieces. */
static char *gz_content(size_t len)
{
    char *data = malloc(len);
    unsigned random = 7;
    assert_non_null(data);
    for (size_t i = 0; i < len; i++) {
        random = random * 1664525u + 1013904223u;
        data[i] = (char)(random >> 24);
    }
    return data;
}

static int gz_open(const char *dir, const char *name, int flags)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, flags | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    return fd;
}

/* Appends \p len bytes to `<dir>/x.gz` as one member. */
static void gz_add_member(const char *dir, const char *data, size_t len)
{
    char buf[8192];
    ssize_t n;
    int plain = gz_open(dir, "plain", O_RDWR | O_TRUNC);
    int packed = gz_open(dir, "packed", O_RDWR | O_TRUNC);
    int to = gz_open(dir, "x.gz", O_WRONLY | O_APPEND);
    assert_int_equal(write(plain, data, len), len);
    size_t budget = SIZE_MAX;
    struct gz_file *compress = gz_file_open(GZ_COMPRESS);
    assert_int_equal(gz_file_step(compress, &sys_real, plain, packed, &budget), GPUFL_OK);
    gz_file_close(compress);
    for (off_t at = 0; (n = pread(packed, buf, sizeof buf, at)) > 0; at += n) {
        assert_int_equal(write(to, buf, (size_t)n), n);
    }
    close(plain);
    close(packed);
    close(to);
}

static void batches_that_go_back_a_little_decode_a_file_about_once(void **state)
{
    (void)state;
    static const size_t back[] = {0, 1, 700, BATCH / 2};
    char *data = gz_content(CONTENT);
    char *dir = dirs_make();
    char *buf = malloc(BATCH);
    gz_add_member(dir, data, CONTENT);
    int fd = gz_open(dir, "x.gz", O_RDONLY);
    for (unsigned i = 0; i < 4; i++) {
        struct gz_cache cache = {0};
        size_t len = BATCH;
        for (uint64_t at = 0; len == BATCH; at += BATCH - back[i]) {
            assert_int_equal(gz_cache_read(&cache, fd, at, buf, BATCH, &len), GPUFL_OK);
            assert_memory_equal(buf, data + at, len);
        }
        assert_true(cache.work <= 4 * CONTENT);
        gz_cache_close(&cache);
    }
    close(fd);
    free(buf);
    free(data);
    dirs_remove(dir);
}

/* As when a file is compared with what was sent of it at each look. */
static void a_mark_and_what_follows_it_are_decoded_once(void **state)
{
    (void)state;
    char *data = gz_content(CONTENT);
    char *dir = dirs_make();
    char *buf = malloc(BATCH);
    struct gz_cache cache = {0};
    size_t len;
    gz_add_member(dir, data, CONTENT);
    int fd = gz_open(dir, "x.gz", O_RDONLY);
    const uint64_t at = CONTENT / 2;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(gz_cache_read(&cache, fd, at - MARK, buf, MARK, &len), GPUFL_OK);
        assert_memory_equal(buf, data + at - MARK, MARK);
        assert_int_equal(gz_cache_read(&cache, fd, at, buf, 1 + i, &len), GPUFL_OK);
        assert_memory_equal(buf, data + at, 1 + i);
    }
    assert_true(cache.work <= 2 * CONTENT);
    gz_cache_close(&cache);
    close(fd);
    free(buf);
    free(data);
    dirs_remove(dir);
}

static void any_place_of_any_members_can_be_read_in_any_order(void **state)
{
    (void)state;
    char *data = gz_content(CONTENT);
    char *dir = dirs_make();
    char *buf = malloc(BATCH);
    struct gz_cache cache = {0};
    unsigned random = 1;
    gz_add_member(dir, data, 100000);
    gz_add_member(dir, data, 0);
    gz_add_member(dir, data + 100000, 1);
    gz_add_member(dir, data + 100001, 300000);
    dirs_append(dir, "x.gz", "what follows is ignored, as gzip does");
    int fd = gz_open(dir, "x.gz", O_RDONLY);
    for (int i = 0; i < 400; i++) {
        size_t len;
        random = random * 1664525u + 1013904223u;
        uint64_t at = (random >> 8) % 420000;
        size_t cap = 1 + (random >> 4) % (BATCH - 1);
        size_t want = at >= 400001 ? 0 : 400001 - at < cap ? 400001 - at : cap;
        assert_int_equal(gz_cache_read(&cache, fd, at, buf, cap, &len), GPUFL_OK);
        assert_int_equal(len, want);
        assert_memory_equal(buf, data + at, len);
        assert_false(cache.plain);
    }
    gz_cache_close(&cache);
    close(fd);
    free(buf);
    free(data);
    dirs_remove(dir);
}

static void
a_file_that_is_cut_off_gives_what_there_is_and_a_damaged_one_nothing(void **state)
{
    (void)state;
    char *data = gz_content(CONTENT);
    char *buf = malloc(CONTENT);
    for (int damaged = 0; damaged < 2; damaged++) {
        char *dir = dirs_make();
        struct gz_cache cache = {0};
        size_t len;
        gz_add_member(dir, data, 200000);
        int fd = gz_open(dir, "x.gz", O_RDWR);
        if (damaged) {
            off_t end = lseek(fd, 0, SEEK_END);
            assert_int_equal(pwrite(fd, "\x55\xaa", 2, end - 8), 2); /* its checksum */
        } else {
            assert_int_equal(ftruncate(fd, 100000), 0);
        }
        gpufl_status status = gz_cache_read(&cache, fd, 0, buf, CONTENT, &len);
        assert_int_equal(status, GPUFL_ERR_FORMAT);
        assert_true(damaged ? len == 0 : len > 50000 && len < 200000);
        assert_memory_equal(buf, data, len);
        gz_cache_close(&cache);
        close(fd);
        dirs_remove(dir);
    }
    free(buf);
    free(data);
}

/* Lines that compress as those of a 1.1 client do. */
static char *gz_lines(size_t len)
{
    char *data = calloc(1, len + 64);
    unsigned random = 7;
    assert_non_null(data);
    for (size_t at = 0; at < len;) {
        random = random * 1664525u + 1013904223u;
        at += (size_t)snprintf(data + at, 64, "{\"type\":\"scope\",\"ns\":%u}\n",
                               random >> 20);
    }
    return data;
}

/* \return how much of the file is read, in batches, as it is in \p data. */
static size_t gz_read_alike(const char *dir, const char *data, gpufl_status *status)
{
    char buf[1000];
    struct gz_cache cache = {0};
    int fd = gz_open(dir, "x.gz", O_RDONLY);
    size_t at = 0;
    size_t len;
    do {
        *status = gz_cache_read(&cache, fd, at, buf, sizeof buf, &len);
        assert_memory_equal(buf, data + at, len);
        at += len;
    } while (*status == GPUFL_OK && len > 0);
    gz_cache_close(&cache);
    close(fd);
    return at;
}

/* A file system may give them back after a power failure. */
static void zeros_at_the_end_of_a_file_hold_nothing(void **state)
{
    (void)state;
    char *data = gz_lines(CONTENT);
    for (off_t zeros = 10; zeros < 60000; zeros = zeros * 2 - 7) {
        char *dir = dirs_make();
        gpufl_status status;
        gz_add_member(dir, data, CONTENT);
        int fd = gz_open(dir, "x.gz", O_RDWR);
        off_t end = lseek(fd, 0, SEEK_END);
        assert_int_equal(ftruncate(fd, end - zeros), 0);
        assert_int_equal(ftruncate(fd, end), 0);
        assert_in_range(gz_read_alike(dir, data, &status), 1, CONTENT - 1);
        assert_int_equal(status, GPUFL_ERR_FORMAT);
        close(fd);
        dirs_remove(dir);
    }
    free(data);
}

static void zeros_behind_a_sound_file_are_ignored(void **state)
{
    (void)state;
    char *data = gz_lines(CONTENT);
    for (int i = 0; i < 2 * 8; i++) {
        char *dir = dirs_make();
        gpufl_status status;
        gz_add_member(dir, data, CONTENT);
        if (i % 2) {
            gz_add_member(dir, "", 0); /* it ends with nine zeros */
        }
        int fd = gz_open(dir, "x.gz", O_RDWR);
        off_t zeros = i / 2 < 7 ? i / 2 * 3 : 60000;
        assert_int_equal(ftruncate(fd, lseek(fd, 0, SEEK_END) + zeros), 0);
        assert_int_equal(gz_read_alike(dir, data, &status), CONTENT);
        assert_int_equal(status, GPUFL_OK);
        close(fd);
        dirs_remove(dir);
    }
    free(data);
}

static void what_is_no_gzip_file_is_read_as_it_is(void **state)
{
    (void)state;
    static const char *const text[] = {"", "\x1f", "plain text\n"};
    for (int i = 0; i < 3; i++) {
        char *dir = dirs_make();
        char buf[64];
        struct gz_cache cache = {0};
        size_t len;
        dirs_append(dir, "x.gz", text[i]);
        int fd = gz_open(dir, "x.gz", O_RDONLY);
        assert_int_equal(gz_cache_read(&cache, fd, 0, buf, sizeof buf, &len), GPUFL_OK);
        assert_true(cache.plain);
        assert_int_equal(len, strlen(text[i]));
        gz_cache_close(&cache);
        close(fd);
        dirs_remove(dir);
    }
}

/* Appends \p count members to `<dir>/x.gz` that hold \p data each. */
static void gz_add_members(const char *dir, const char *data, unsigned count)
{
    char one[64];
    struct text all = {0};
    gz_add_member(dir, data, strlen(data));
    int packed = gz_open(dir, "packed", O_RDONLY);
    ssize_t n = read(packed, one, sizeof one);
    assert_true(n > 0);
    close(packed);
    for (unsigned i = 1; i < count; i++) {
        text_append(&all, one, (size_t)n);
    }
    int to = gz_open(dir, "x.gz", O_WRONLY | O_APPEND);
    assert_int_equal(write(to, all.data, all.len), all.len);
    text_fini(&all);
    close(to);
}

/* Anybody can make a file that is read for minutes and holds nothing. */
static void a_file_that_goes_on_without_holding_anything_is_damaged(void **state)
{
    (void)state;
    for (int after_end = 0; after_end < 2; after_end++) {
        char *dir = dirs_make();
        char buf[64];
        struct gz_cache cache = {0};
        size_t len;
        gz_add_member(dir, "first\n", 6);
        gz_add_members(dir, "", 100000);
        gz_add_member(dir, "last\n", 5);
        int fd = gz_open(dir, "x.gz", O_RDONLY);
        assert_int_equal(
            gz_cache_read(&cache, fd, after_end ? 6 : 0, buf, sizeof buf, &len),
            GPUFL_ERR_FORMAT);
        assert_int_equal(len, after_end ? 0 : 6);
        assert_memory_equal(buf, "first\n", len);
        gz_cache_close(&cache);
        close(fd);
        dirs_remove(dir);
    }
}

static void members_of_one_short_line_each_and_some_of_none_are_read(void **state)
{
    (void)state;
    char *dir = dirs_make();
    static char buf[400000];
    struct gz_cache cache = {0};
    size_t len;
    gz_add_members(dir, "", 1000);
    gz_add_members(dir, "{\"a\":1}\n{}\n", 20000);
    gz_add_members(dir, "", 1000);
    gz_add_member(dir, "last\n", 5);
    int fd = gz_open(dir, "x.gz", O_RDONLY);
    size_t all = 0;
    do {
        assert_int_equal(
            gz_cache_read(&cache, fd, all, buf + all, sizeof buf - all, &len), GPUFL_OK);
        all += len;
    } while (cache.part);
    assert_int_equal(all, 20000 * 11 + 5);
    assert_memory_equal(buf + 20000 * 11, "last\n", 5);
    assert_int_equal(gz_cache_read(&cache, fd, all, buf, sizeof buf, &len), GPUFL_OK);
    assert_int_equal(len, 0);
    gz_cache_close(&cache);
    close(fd);
    dirs_remove(dir);
}

#define STEP_BYTES  (1u << 20)
#define LARGE_BYTES (24u << 20)

/* `<dir>/x.gz` holds \p len zeros and "end\n". */
static int gz_large(const char *dir, size_t len)
{
    char *zeros = calloc(1, len);
    assert_non_null(zeros);
    gz_add_member(dir, zeros, len);
    gz_add_member(dir, "end\n", 4);
    free(zeros);
    return gz_open(dir, "x.gz", O_RDONLY);
}

/* \return true once the end of the file was read by that reader. */
static bool gz_turn(struct gz_cache *cache, int fd, uint64_t now_ms, uint32_t owner,
                    const void *reader, size_t size)
{
    char buf[64];
    size_t len;
    uint64_t before = cache->work;
    gz_cache_turn(cache, now_ms);
    gpufl_status status = gz_cache_read(gz_cache_for(cache, owner, reader), fd, size - 2,
                                        buf, sizeof buf, &len);
    assert_true(cache->work - before <= STEP_BYTES + 2 * BATCH);
    assert_true(status == GPUFL_OK || status == GPUFL_BUSY);
    assert_int_equal(cache->busy, status == GPUFL_BUSY);
    assert_int_equal(len, status == GPUFL_OK ? 6 : 0);
    assert_memory_equal(buf, "\0\0end\n", len);
    return status == GPUFL_OK;
}

/* Anybody can make a file that is read from any place on. */
static void the_way_to_a_far_place_takes_several_turns(void **state)
{
    (void)state;
    char *dir = dirs_make();
    struct gz_cache cache = {.step_bytes = STEP_BYTES};
    int fd = gz_large(dir, LARGE_BYTES);
    unsigned turns = 1;
    while (!gz_turn(&cache, fd, 0, 1, &cache, LARGE_BYTES)) {
        turns++;
    }
    assert_in_range(turns, LARGE_BYTES / STEP_BYTES, LARGE_BYTES / STEP_BYTES + 1);
    assert_true(gz_turn(&cache, fd, 0, 1, &cache, LARGE_BYTES));
    gz_cache_close(&cache);
    close(fd);
    dirs_remove(dir);
}

/* However many files somebody else has, which never come to their end. */
static void nobody_loses_a_decoder_to_one_who_has_many(void **state)
{
    (void)state;
    static char others[100];
    char *dir = dirs_make();
    struct gz_cache cache = {.step_bytes = STEP_BYTES};
    int fd = gz_large(dir, LARGE_BYTES);
    unsigned turns = 1;
    unsigned begun = 0;
    for (; begun < 64; begun++) {
        (void)gz_turn(&cache, fd, 0, 2, &others[begun % 100], LARGE_BYTES);
    }
    while (!gz_turn(&cache, fd, turns, 1, &cache, LARGE_BYTES)) {
        turns++;
        for (unsigned i = 0; i < 4; i++, begun++) {
            (void)gz_turn(&cache, fd, turns, 2, &others[begun % 100], LARGE_BYTES);
        }
    }
    assert_in_range(turns, LARGE_BYTES / STEP_BYTES, LARGE_BYTES / STEP_BYTES + 1);
    gz_cache_close(&cache);
    close(fd);
    dirs_remove(dir);
}

/* More than there are decoders: each finds its place, though some wait. */
static void all_files_of_one_owner_are_read_in_the_end(void **state)
{
    (void)state;
    static char readers[70];
    const size_t size = 4u << 20;
    char *dir = dirs_make();
    struct gz_cache cache = {.step_bytes = STEP_BYTES};
    int fd = gz_large(dir, size);
    unsigned read = 0;
    for (unsigned round = 0; read < 70; round++) {
        assert_true(round < 100);
        for (unsigned i = 0; i < 70; i++) {
            if (!readers[i] && gz_turn(&cache, fd, 100 * round, 1, &readers[i], size)) {
                readers[i] = 1;
                read++;
            }
        }
    }
    gz_cache_close(&cache);
    close(fd);
    dirs_remove(dir);
}

static void a_decoder_that_nobody_came_back_for_is_taken_after_a_minute(void **state)
{
    (void)state;
    static char readers[GZ_CACHE_SLOTS + 1];
    char *dir = dirs_make();
    struct gz_cache cache = {.step_bytes = STEP_BYTES};
    int fd = gz_large(dir, LARGE_BYTES);
    for (unsigned i = 0; i <= GZ_CACHE_SLOTS; i++) {
        assert_false(gz_turn(&cache, fd, 1000, 1, &readers[i], LARGE_BYTES));
        assert_int_equal(cache.full, i == GZ_CACHE_SLOTS);
    }
    assert_false(gz_turn(&cache, fd, 61000, 1, &readers[GZ_CACHE_SLOTS], LARGE_BYTES));
    assert_false(cache.full);
    gz_cache_close(&cache);
    close(fd);
    dirs_remove(dir);
}

#define COSTLY_LINE   "a line, behind which many blocks hold nothing\n"
#define COSTLY_LINES  8000u
#define COSTLY_GROUPS 1u
/* The empty blocks of all of it cost so much, and the lines no more than half of that. */
#define COSTLY_WORK (COSTLY_LINES * COSTLY_GROUPS * GZ_COSTLY_GROUP * 11u * 32u)

/* A read of a batch may cost that. */
#define COSTLY_READ (5u << 20)

/* Anybody can make a file of which each byte takes as long as a hundred of others. */
static void what_takes_long_to_decode_is_read_in_parts(void **state)
{
    (void)state;
    const size_t line = sizeof COSTLY_LINE - 1;
    static char buf[COSTLY_LINES * sizeof COSTLY_LINE];
    char *dir = dirs_make();
    struct gz_cache cache = {.step_bytes = STEP_BYTES};
    size_t len = 0;
    size_t all = 0;
    unsigned parts = 0;
    gz_costly_make(dir, "x.gz", COSTLY_LINE, COSTLY_LINES, COSTLY_GROUPS);
    int fd = gz_open(dir, "x.gz", O_RDONLY);
    do {
        uint64_t before = cache.work;
        gz_cache_turn(&cache, 0);
        assert_int_equal(
            gz_cache_read(&cache, fd, all, buf + all, sizeof buf - all, &len), GPUFL_OK);
        assert_true(len > 0);
        assert_true(cache.work - before < COSTLY_READ + BATCH);
        assert_int_equal(cache.work - before, gz_cache_spent(&cache));
        all += len;
        parts++;
    } while (cache.part);
    assert_int_equal(all, COSTLY_LINES * line);
    for (unsigned i = 0; i < COSTLY_LINES; i++) {
        assert_memory_equal(buf + i * line, COSTLY_LINE, line);
    }
    assert_in_range(parts, COSTLY_WORK / COSTLY_READ,
                    COSTLY_WORK * 3 / 2 / COSTLY_READ + 1);
    gz_cache_close(&cache);
    close(fd);
    dirs_remove(dir);
}

/* The way counts as it costs, and goes on where the last turn left it. */
static void the_way_through_what_takes_long_to_decode_takes_more_turns(void **state)
{
    (void)state;
    const size_t size = COSTLY_LINES * (sizeof COSTLY_LINE - 1);
    char *dir = dirs_make();
    char buf[64];
    struct gz_cache cache = {.step_bytes = STEP_BYTES};
    size_t len;
    unsigned turns = 0;
    gpufl_status status;
    gz_costly_make(dir, "x.gz", COSTLY_LINE, COSTLY_LINES, COSTLY_GROUPS);
    int fd = gz_open(dir, "x.gz", O_RDONLY);
    do {
        gz_cache_turn(&cache, 0);
        status = gz_cache_read(&cache, fd, size - 2, buf, sizeof buf, &len);
        assert_true(gz_cache_spent(&cache) < STEP_BYTES + BATCH);
        turns++;
    } while (status == GPUFL_BUSY);
    assert_int_equal(status, GPUFL_OK);
    assert_int_equal(len, 2);
    assert_in_range(turns, COSTLY_WORK / STEP_BYTES, COSTLY_WORK * 3 / 2 / STEP_BYTES);
    gz_cache_close(&cache);
    close(fd);
    dirs_remove(dir);
}

/* The place before is kept meanwhile, so both are read in one turn, or never. */
static void what_is_read_ahead_of_a_place_is_limited(void **state)
{
    (void)state;
    const size_t size = COSTLY_LINES * (sizeof COSTLY_LINE - 1);
    for (unsigned groups = 1; groups <= 2; groups++) {
        char *dir = dirs_make();
        char buf[64];
        struct gz_cache cache = {.step_bytes = STEP_BYTES};
        size_t len;
        gz_costly_make(dir, "x.gz", COSTLY_LINE, COSTLY_LINES, groups);
        int fd = gz_open(dir, "x.gz", O_RDONLY);
        gz_cache_turn(&cache, 0);
        assert_int_equal(gz_cache_read(&cache, fd, 0, buf, 0, &len), GPUFL_OK);
        gz_cache_hold_place(&cache, true);
        assert_int_equal(gz_cache_read(&cache, fd, size - 2, buf, sizeof buf, &len),
                         groups == 1 ? GPUFL_BUSY : GPUFL_ERR_FORMAT);
        assert_true(gz_cache_spent(&cache) < 2 * GZ_CACHE_STEP_BYTES + 2 * BATCH);
        gz_cache_close(&cache);
        close(fd);
        dirs_remove(dir);
    }
}

/* \return what came out of `<dir>/x.gz`, which is read to its end unless it is excessive.
 */
static size_t gz_read_all(const char *dir, struct gz_cache *cache, gpufl_status *status)
{
    static char buf[1u << 20];
    size_t all = 0;
    size_t len;
    int fd = gz_open(dir, "x.gz", O_RDONLY);
    do {
        *status = gz_cache_read(cache, fd, all, buf, sizeof buf, &len);
        all += len;
    } while (*status == GPUFL_OK && len);
    gz_cache_close(cache);
    close(fd);
    return all;
}

/* As of an idle host, where only the times of the lines differ. */
static void lines_that_compress_well_are_not_excessive(void **state)
{
    (void)state;
    char *dir = dirs_make();
    struct gz_cache cache = {.no_excess = true};
    struct text lines = {0};
    gpufl_status status;
    for (unsigned i = 0; lines.len < 2 * GZ_DECODER_EXCESS_LEAST; i++) {
        text_printf(
            &lines,
            "{\"type\":\"host_metric\",\"ts_ns\":%u,\"cpu_percent\":0.0,"
            "\"memory_used_bytes\":1073741824,\"memory_total_bytes\":8589934592}\n",
            1000000000 + i * 5000000);
    }
    assert_false(lines.failed);
    gz_add_member(dir, lines.data, lines.len);
    assert_int_equal(gz_read_all(dir, &cache, &status), lines.len);
    assert_int_equal(status, GPUFL_OK);
    text_fini(&lines);
    dirs_remove(dir);
}

/* All of it is read where nothing is to be spared. */
static void a_file_that_holds_a_thousand_times_its_size_is_excessive(void **state)
{
    (void)state;
    const size_t size = 32u << 20;
    char *dir = dirs_make();
    char *zeros = calloc(1, size);
    struct gz_cache spares = {.no_excess = true};
    struct gz_cache cache = {0};
    gpufl_status status;
    assert_non_null(zeros);
    gz_add_member(dir, zeros, size);
    assert_in_range(gz_read_all(dir, &spares, &status), 1, 2 * GZ_DECODER_EXCESS_LEAST);
    assert_int_equal(status, GPUFL_ERR_FORMAT);
    assert_true(spares.excessive);
    assert_true(spares.work < 2 * GZ_DECODER_EXCESS_LEAST);
    assert_int_equal(gz_read_all(dir, &cache, &status), size);
    assert_int_equal(status, GPUFL_OK);
    assert_false(cache.excessive);
    free(zeros);
    dirs_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_that_go_back_a_little_decode_a_file_about_once),
        cmocka_unit_test(a_mark_and_what_follows_it_are_decoded_once),
        cmocka_unit_test(any_place_of_any_members_can_be_read_in_any_order),
        cmocka_unit_test(
            a_file_that_is_cut_off_gives_what_there_is_and_a_damaged_one_nothing),
        cmocka_unit_test(zeros_at_the_end_of_a_file_hold_nothing),
        cmocka_unit_test(zeros_behind_a_sound_file_are_ignored),
        cmocka_unit_test(what_is_no_gzip_file_is_read_as_it_is),
        cmocka_unit_test(a_file_that_goes_on_without_holding_anything_is_damaged),
        cmocka_unit_test(members_of_one_short_line_each_and_some_of_none_are_read),
        cmocka_unit_test(the_way_to_a_far_place_takes_several_turns),
        cmocka_unit_test(nobody_loses_a_decoder_to_one_who_has_many),
        cmocka_unit_test(all_files_of_one_owner_are_read_in_the_end),
        cmocka_unit_test(what_takes_long_to_decode_is_read_in_parts),
        cmocka_unit_test(the_way_through_what_takes_long_to_decode_takes_more_turns),
        cmocka_unit_test(what_is_read_ahead_of_a_place_is_limited),
        cmocka_unit_test(lines_that_compress_well_are_not_excessive),
        cmocka_unit_test(a_file_that_holds_a_thousand_times_its_size_is_excessive),
        cmocka_unit_test(a_decoder_that_nobody_came_back_for_is_taken_after_a_minute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
