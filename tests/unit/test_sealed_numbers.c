/* SPDX-License-Identifier: Apache-2.0 */
/* The writer tells in its lock file how many files it has sealed, so that a reader misses
 * the newest one, too. */
#include "tests/support/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/boot_id.h"
#include "base/crc32c.h"
#include "collector-lib/core/session_dir.h"
#include "tests/support/dirs.h"
#include "upload/source/file_number.h"
#include "upload/source/scan_session.h"
#include "upload/source/tail.h"

struct sealing {
    char *root;
    char path[512]; /* of the session */
    struct session_dir dir;
};

static void sealing_open(struct sealing *s)
{
    s->root = dirs_make();
    s->dir = (struct session_dir){0};
    assert_int_equal(session_dir_open(&s->dir, s->root), GPUFL_OK);
    s->dir.rotate_bytes = 1; /* each append but the first seals */
    snprintf(s->path, sizeof s->path, "%s/%s", s->root, s->dir.id);
}

static void sealing_close(struct sealing *s)
{
    session_dir_close(&s->dir);
    dirs_remove(s->root);
}

static void sealing_append(struct sealing *s, enum channel channel, int times)
{
    for (int i = 0; i < times; i++) {
        assert_int_equal(session_dir_append(&s->dir, channel, "{}\n", 3), 3);
    }
}

static void sealing_remove(struct sealing *s, const char *name)
{
    assert_int_equal(unlinkat(s->dir.own.fd, name, 0), 0);
}

static uint32_t sealing_highest(const struct sealing *s, const char *channel)
{
    struct scan scan;
    int root = open(s->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(scan_session(&sys_real, root, s->dir.id, s->dir.id, &scan),
                     GPUFL_OK);
    close(root);
    const struct scan_channel *found = scan_find_channel(&scan, channel);
    assert_non_null(found);
    return found->highest;
}

static void the_newest_sealed_file_is_missed_though_nobody_read_it(void **state)
{
    (void)state;
    struct sealing s;
    sealing_open(&s);
    assert_int_equal(sealing_highest(&s, "device"), 0);
    sealing_append(&s, CHANNEL_DEVICE, 12);
    sealing_append(&s, CHANNEL_SCOPE, 2);
    sealing_append(&s, CHANNEL_SYSTEM, 1);
    assert_int_equal(sealing_highest(&s, "device"), 11);
    sealing_remove(&s, "device.11.log");
    sealing_remove(&s, "device.10.log");
    assert_int_equal(sealing_highest(&s, "device"), 11);
    sealing_remove(&s, "scope.1.log");
    assert_int_equal(sealing_highest(&s, "scope"), 1);
    assert_int_equal(sealing_highest(&s, "system"), 0);
    sealing_close(&s);
}

/* A directory in the place of the next file: the seal is not done. */
static void a_file_that_is_not_sealed_is_not_missed(void **state)
{
    (void)state;
    struct sealing s;
    sealing_open(&s);
    sealing_append(&s, CHANNEL_DEVICE, 2);
    assert_int_equal(mkdirat(s.dir.own.fd, ".gpufl-next.device.3", 0755), 0);
    sealing_append(&s, CHANNEL_DEVICE, 2);
    assert_int_equal(sealing_highest(&s, "device"), 1);
    assert_int_equal(unlinkat(s.dir.own.fd, ".gpufl-next.device.3", AT_REMOVEDIR), 0);
    sealing_append(&s, CHANNEL_DEVICE, 1);
    assert_int_equal(sealing_highest(&s, "device"), 2);
    sealing_close(&s);
}

static void sealing_tell(const struct sealing *s, const char *text)
{
    assert_int_equal(ftruncate(s->dir.lock.file.fd, 0), 0);
    assert_int_equal(pwrite(s->dir.lock.file.fd, text, strlen(text), 0), strlen(text));
}

static void what_is_not_of_this_boot_or_no_number_counts_for_nothing(void **state)
{
    (void)state;
    struct sealing s;
    char boot_id[BOOT_ID_TEXT];
    char text[LAYOUT_TOLD_BYTES + 200];
    boot_id_get(boot_id);
    const struct {
        const char *boot_id, *active;
        uint32_t highest;
    } row[] = {
        {boot_id, "{\"device\":5}", 4},
        {boot_id, "{\"device\":1,\"scope\":9}", 0},
        {"00000000-0000-4000-8000-000000000000", "{\"device\":5}", 0},
        {"", "{\"device\":5}", 0},
        {boot_id, "{\"device\":-5}", 0},
        {boot_id, "{\"device\":4294967296}", 0},
        {boot_id, "{\"device\":\"5\"}", 0},
        {boot_id, "[5]", 0},
        {boot_id, "{\"device\":5", 0},
    };
    sealing_open(&s);
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        snprintf(text, sizeof text, "{\"boot_id\":\"%s\",\"active\":%s}\n",
                 row[i].boot_id, row[i].active);
        sealing_tell(&s, text);
        assert_int_equal(sealing_highest(&s, "device"), row[i].highest);
    }
    snprintf(text, sizeof text, "{\"boot_id\":\"%s\",\"active\":{\"device\":5}}%*s",
             boot_id, LAYOUT_TOLD_BYTES, "\n");
    sealing_tell(&s, text); /* larger than a writer makes it */
    assert_int_equal(sealing_highest(&s, "device"), 0);
    sealing_close(&s);
}

/* The writer is on another host, or its host was booted since. \p lock_file: as it is
 * there; NULL = as it is. */
static void sealing_tell_elsewhere(const struct sealing *s, const char *lock_file)
{
    char text[LAYOUT_TOLD_BYTES + 1] = "";
    char other[2 * LAYOUT_TOLD_BYTES];
    assert_true(pread(s->dir.lock.file.fd, text, LAYOUT_TOLD_BYTES, 0) > 0);
    char *active = strstr(text, ",\"active\"");
    char *crc = strstr(text, LAYOUT_TOLD_CRC);
    assert_non_null(active);
    assert_non_null(crc);
    *crc = '\0';
    char name[LAYOUT_LOCK_FILE_TEXT];
    layout_lock_file(name, 0, s->dir.lock.file.inode); /* device numbers differ */
    int len = snprintf(other, sizeof other,
                       "{\"boot_id\":\"00000000-0000-4000-8000-000000000000\","
                       "\"lock_file\":\"%s\"%s",
                       lock_file ? lock_file : name, active);
    snprintf(other + len, sizeof other - (size_t)len, LAYOUT_TOLD_CRC "%u}\n",
             crc32c(0, other, (size_t)len));
    sealing_tell(s, other);
}

/* A power failure may keep what is told and take a rename back: then another file is the
 * active one. */
static void on_whatever_boot_the_file_that_is_meant_has_its_number(void **state)
{
    (void)state;
    struct sealing s;
    sealing_open(&s);
    sealing_append(&s, CHANNEL_DEVICE, 4);
    sealing_append(&s, CHANNEL_SCOPE, 1);
    sealing_tell_elsewhere(&s, NULL);
    assert_int_equal(sealing_highest(&s, "device"), 3);
    sealing_remove(&s, "device.3.log");
    assert_int_equal(sealing_highest(&s, "device"), 3);
    sealing_remove(&s, "device.2.log");
    assert_int_equal(sealing_highest(&s, "device"), 3);
    assert_int_equal(sealing_highest(&s, "scope"), 0);
    sealing_tell_elsewhere(&s, "9:9"); /* a copy, or inodes that are not those here */
    assert_int_equal(sealing_highest(&s, "device"), 1);
    sealing_tell_elsewhere(&s, LAYOUT_LOCK_LOST);
    assert_int_equal(sealing_highest(&s, "device"), 1);
    sealing_tell_elsewhere(&s, NULL);
    assert_int_equal(renameat(s.dir.own.fd, "scope.log", s.dir.own.fd, "device.log"), 0);
    assert_int_equal(sealing_highest(&s, "device"), 1);
    sealing_close(&s);
}

static gpufl_status sealing_read(const struct sealing *s, uint32_t file)
{
    char buf[64];
    struct tail_chunk chunk;
    struct file_known known = {0};
    int root = open(s->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct tail_where where = {.root = root,
                                     .path = s->dir.id,
                                     .channel = "device",
                                     .layout = SESSION_LIVE,
                                     .known = &known,
                                     .file = file};
    gpufl_status status = tail_read(&sys_real, &where, buf, sizeof buf, &chunk);
    assert_true(chunk.other == (status == GPUFL_ERR_FORMAT));
    close(root);
    return status;
}

/* It was sealed and deleted since the directory was listed. */
static void another_active_file_is_not_read_as_one_that_is_gone(void **state)
{
    (void)state;
    struct sealing s;
    sealing_open(&s);
    sealing_append(&s, CHANNEL_DEVICE, 2);
    assert_int_equal(sealing_read(&s, 2), GPUFL_OK);
    sealing_append(&s, CHANNEL_DEVICE, 1);
    sealing_remove(&s, "device.2.log");
    for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
        assert_int_equal(sealing_read(&s, 2), GPUFL_ERR_FORMAT);
        sealing_tell_elsewhere(&s, NULL);
    }
    sealing_close(&s);
}

/* The job has closed the descriptor, and opened a file of its own under its number. */
static void a_file_of_the_job_is_not_written_to(void **state)
{
    (void)state;
    struct sealing s;
    struct stat st;
    char path[600];
    sealing_open(&s);
    snprintf(path, sizeof path, "%s/of-the-job", s.root);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(dup2(fd, s.dir.lock.file.fd), s.dir.lock.file.fd);
    sealing_append(&s, CHANNEL_DEVICE, 3);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, 0);
    close(fd);
    sealing_close(&s);
}

/* A directory of very many names is listed in steps; so many of the lowest count. */
static void the_lowest_numbers_are_found_in_steps(void **state)
{
    (void)state;
    const unsigned files = FILE_NUMBERS_MAX + 500;
    char name[40];
    char *dir = dirs_make();
    dirs_append(dir, "device.1.log", "");
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (unsigned i = 2; i <= files; i++) {
        snprintf(name, sizeof name, "device.%u.log%s", i, i % 3 ? "" : ".gz");
        assert_int_equal(linkat(fd, "device.1.log", fd, name, 0), 0);
    }
    dirs_append(dir, "device.3.log", "");
    dirs_append(dir, "scope.4.log", "");
    const struct scan_files_of of = {
        .sys = &sys_real, .root = fd, .path = ".", .channel = "device"};
    for (unsigned most = 100; most <= files; most += files - 100) {
        struct file_numbers *some = calloc(1, sizeof *some);
        unsigned steps = 0;
        some->above = 2;
        some->most = most;
        for (; !some->over; steps++) {
            file_numbers_list(&of, some, 100);
        }
        assert_in_range(steps, files / 100, files / 100 + 2);
        unsigned count = most == 100 ? 98 : FILE_NUMBERS_MAX;
        assert_int_equal(some->count, count);
        for (unsigned i = 0; i < count; i++) {
            assert_int_equal(some->number[i], 3 + i);
        }
        free(some);
    }
    close(fd);
    dirs_remove(dir);
}

static ssize_t pread_without_what_is_told(int fd, void *buf, size_t len, off_t at)
{
    errno = EIO;
    return len == LAYOUT_TOLD_BYTES ? -1 : sys_real.pread(fd, buf, len, at);
}

static int open_without_the_lock_file(int dir, const char *path, int flags, mode_t mode)
{
    errno = EMFILE;
    return strcmp(path, LAYOUT_LOCK) == 0 ? -1
                                          : sys_real.open_beneath(dir, path, flags, mode);
}

/* A deleted file would count as never made. */
static void what_is_told_and_cannot_be_read_now_is_not_untold(void **state)
{
    (void)state;
    struct sealing s;
    struct scan scan;
    struct sys reading = sys_real;
    struct sys opening = sys_real;
    reading.pread = pread_without_what_is_told;
    opening.open_beneath = open_without_the_lock_file;
    sealing_open(&s);
    sealing_append(&s, CHANNEL_DEVICE, 3);
    sealing_remove(&s, "device.2.log");
    int root = open(s.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(scan_session(&reading, root, s.dir.id, s.dir.id, &scan),
                     GPUFL_ERR_IO);
    assert_int_equal(scan_session(&opening, root, s.dir.id, s.dir.id, &scan),
                     GPUFL_ERR_IO);
    close(root);
    assert_int_equal(sealing_highest(&s, "device"), 2);
    sealing_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_sealed_file_is_missed_though_nobody_read_it),
        cmocka_unit_test(a_file_that_is_not_sealed_is_not_missed),
        cmocka_unit_test(what_is_not_of_this_boot_or_no_number_counts_for_nothing),
        cmocka_unit_test(on_whatever_boot_the_file_that_is_meant_has_its_number),
        cmocka_unit_test(another_active_file_is_not_read_as_one_that_is_gone),
        cmocka_unit_test(a_file_of_the_job_is_not_written_to),
        cmocka_unit_test(the_lowest_numbers_are_found_in_steps),
        cmocka_unit_test(what_is_told_and_cannot_be_read_now_is_not_untold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
