/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed files that are read in batches, several at once, or change meanwhile: each
 * is decoded about once. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "tests/support/dirs.h"
#include "upload/source/gz_cache.h"

#define BATCH (256u << 10)
#define LINES (6u << 20)
#define TORN  700u

static char lines[LINES];

/* Lines that differ, so that reading another place shows. */
static void lines_make(unsigned seed)
{
    unsigned random = seed;
    for (size_t at = 0; at + 64 < LINES;) {
        random = random * 1664525u + 1013904223u;
        at +=
            (size_t)snprintf(lines + at, 64, "{\"type\":\"scope\",\"ns\":%u}\n", random);
    }
}

/* Writes what \p path holds from now on, in place. \return its size. */
static uint64_t packed_write(const char *path, unsigned seed)
{
    struct stat st;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    gzFile gz = gzdopen(fd, "w1");
    assert_non_null(gz);
    lines_make(seed);
    assert_int_equal(gzwrite(gz, lines, LINES), LINES);
    assert_int_equal(gzclose(gz), Z_OK);
    assert_int_equal(stat(path, &st), 0);
    return (uint64_t)st.st_size;
}

struct packed {
    char *dir;
    char path[600];
    int fd;
    uint64_t size;
    char *buf;
};

static void packed_open(struct packed *p)
{
    p->dir = dirs_make();
    snprintf(p->path, sizeof p->path, "%s/x.gz", p->dir);
    p->size = packed_write(p->path, 7);
    p->fd = open(p->path, O_RDONLY | O_CLOEXEC);
    p->buf = malloc(BATCH);
    assert_true(p->fd >= 0 && p->buf);
}

static void packed_close(struct packed *p)
{
    close(p->fd);
    free(p->buf);
    dirs_remove(p->dir);
}

/* \return the bytes that this process has read so far. */
static uint64_t bytes_read(void)
{
    unsigned long long bytes = 0;
    FILE *io = fopen("/proc/self/io", "r");
    assert_non_null(io);
    assert_int_equal(fscanf(io, "rchar: %llu", &bytes), 1);
    fclose(io);
    return bytes;
}

static void one_file_is_read_and_decoded_once(void **state)
{
    (void)state;
    struct packed p;
    struct gz_cache cache = {0};
    size_t len = BATCH;
    packed_open(&p);
    uint64_t before = bytes_read();
    for (uint64_t at = 0; len == BATCH; at += BATCH - TORN) {
        assert_int_equal(gz_cache_read(&cache, p.fd, at, p.buf, BATCH, &len), GPUFL_OK);
        assert_memory_equal(p.buf, lines + at, len);
    }
    assert_in_range(bytes_read() - before, p.size, p.size + p.size / 4);
    assert_in_range(cache.work, LINES, LINES + LINES / 10);
    gz_cache_close(&cache);
    packed_close(&p);
}

/* A batch that is refused for a while is read again, and so is what stands before it. */
static void a_batch_that_is_read_again_costs_no_more_than_it(void **state)
{
    (void)state;
    struct packed p;
    struct gz_cache cache = {0};
    const uint64_t at = LINES - 2 * BATCH;
    size_t len;
    packed_open(&p);
    assert_int_equal(gz_cache_read(&cache, p.fd, at - BATCH + TORN, p.buf, BATCH, &len),
                     GPUFL_OK);
    for (int i = 0; i < 10; i++) {
        uint64_t before = cache.work;
        assert_int_equal(gz_cache_read(&cache, p.fd, at - 4096, p.buf, 4096, &len),
                         GPUFL_OK);
        assert_memory_equal(p.buf, lines + at - 4096, 4096);
        assert_int_equal(gz_cache_read(&cache, p.fd, at, p.buf, BATCH, &len), GPUFL_OK);
        assert_memory_equal(p.buf, lines + at, BATCH);
        assert_true(cache.work - before < BATCH + BATCH / 2);
    }
    gz_cache_close(&cache);
    packed_close(&p);
}

#define READERS (GZ_CACHE_SLOTS + 8u)

/* Reads the next batch of that reader. \return false if it waits, or is at the end. */
static bool reader_step(struct gz_cache *cache, const struct packed *p, uint64_t *at,
                        uint64_t now_ms)
{
    size_t len = 0;
    gz_cache_turn(cache, now_ms);
    gpufl_status status =
        gz_cache_read(gz_cache_for(cache, 1, at), p->fd, *at, p->buf, BATCH, &len);
    assert_true(status == GPUFL_OK || status == GPUFL_BUSY);
    assert_memory_equal(p->buf, lines + *at, len);
    *at += len == BATCH ? len - TORN : len;
    return len > 0;
}

static void more_files_than_decoders_are_decoded_once_each(void **state)
{
    (void)state;
    struct packed p;
    struct gz_cache cache = {.step_bytes = GZ_CACHE_STEP_BYTES};
    static uint64_t at[READERS];
    uint64_t now_ms = 1000;
    unsigned left = READERS;
    packed_open(&p);
    while (left > 0) {
        left = 0;
        for (unsigned i = 0; i < READERS; i++) {
            if (at[i] < LINES) {
                reader_step(&cache, &p, &at[i], now_ms += 5);
                left++;
            }
        }
    }
    assert_in_range(cache.work, (uint64_t)READERS * LINES,
                    (uint64_t)READERS * LINES * 11 / 10);
    gz_cache_close(&cache);
    packed_close(&p);
}

/* One that the backend does not take keeps its decoder from others no longer. */
static void a_file_whose_batches_come_no_more_is_not_waited_for(void **state)
{
    (void)state;
    struct packed p;
    struct gz_cache cache = {.step_bytes = GZ_CACHE_STEP_BYTES};
    uint64_t at[GZ_CACHE_SLOTS + 1] = {0};
    uint64_t *last = &at[GZ_CACHE_SLOTS];
    packed_open(&p);
    for (unsigned i = 0; i < GZ_CACHE_SLOTS; i++) {
        assert_true(reader_step(&cache, &p, &at[i], 1000));
    }
    assert_false(reader_step(&cache, &p, last, 1100));
    assert_true(cache.full);
    assert_true(reader_step(&cache, &p, last, 3100));
    assert_true(reader_step(&cache, &p, &at[0], 3100)); /* which goes on, if need be */
    gz_cache_close(&cache);
    packed_close(&p);
}

/* Another program may write into it at any time. */
static void a_file_that_changes_is_decoded_from_its_start_again(void **state)
{
    (void)state;
    struct packed p;
    struct gz_cache cache = {0};
    size_t len;
    packed_open(&p);
    assert_int_equal(gz_cache_read(&cache, p.fd, BATCH, p.buf, BATCH, &len), GPUFL_OK);
    assert_memory_equal(p.buf, lines + BATCH, BATCH);
    assert_int_not_equal(packed_write(p.path, 8), p.size);
    const uint64_t at = 2 * BATCH - TORN;
    assert_int_equal(gz_cache_read(&cache, p.fd, at, p.buf, BATCH, &len), GPUFL_OK);
    assert_memory_equal(p.buf, lines + at, BATCH);
    assert_int_equal(truncate(p.path, (off_t)p.size / 100), 0);
    assert_int_equal(gz_cache_read(&cache, p.fd, at, p.buf, BATCH, &len),
                     GPUFL_ERR_FORMAT);
    assert_int_equal(len, 0);
    gz_cache_close(&cache);
    packed_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_file_is_read_and_decoded_once),
        cmocka_unit_test(a_batch_that_is_read_again_costs_no_more_than_it),
        cmocka_unit_test(more_files_than_decoders_are_decoded_once_each),
        cmocka_unit_test(a_file_whose_batches_come_no_more_is_not_waited_for),
        cmocka_unit_test(a_file_that_changes_is_decoded_from_its_start_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
