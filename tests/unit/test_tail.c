/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile and moving directories: what is opened, what is not. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/dirs.h"
#include "upload/source/liveness.h"
#include "upload/source/scan_session.h"
#include "upload/source/tail.h"

#define ID "11111111-1111-4111-8111-111111111111"

struct fixture {
    char *root;
    int fd;
    struct live_session live;
};

static void begin(struct fixture *f)
{
    f->root = dirs_make();
    f->fd = open(f->root, O_RDONLY | O_DIRECTORY);
    live_open(&f->live, f->root, ID);
}

static void end(struct fixture *f)
{
    if (f->live.lock_fd >= 0) {
        live_close(&f->live);
    }
    close(f->fd);
    dirs_remove(f->root);
}

static gpufl_status read_at(struct fixture *f, uint32_t file, uint64_t offset, char *buf,
                            struct tail_chunk *chunk)
{
    struct tail_where where = {.root = f->fd,
                               .path = ID,
                               .channel = "device",
                               .layout = SESSION_LIVE,
                               .file = file,
                               .offset = offset};
    memset(buf, 0, 256);
    return tail_read(&sys_real, &where, buf, 255, chunk);
}

static void a_position_means_the_same_bytes_before_and_after_a_rotation(void **state)
{
    (void)state;
    struct fixture f;
    struct tail_chunk chunk;
    char before[256];
    char after[256];
    begin(&f);
    live_line(&f.live, "device", "x", 1);
    assert_int_equal(read_at(&f, 1, 5, before, &chunk), GPUFL_OK);
    assert_false(chunk.sealed);
    live_rotate(&f.live, "device", 1);
    live_line(&f.live, "device", "x", 2);
    assert_int_equal(read_at(&f, 1, 5, after, &chunk), GPUFL_OK);
    assert_true(chunk.sealed && chunk.at_end);
    assert_string_equal(before, after);
    assert_int_equal(read_at(&f, 2, 0, after, &chunk), GPUFL_OK);
    assert_non_null(strstr(after, "\"n\":2"));
    assert_int_equal(read_at(&f, 2, 100000, after, &chunk), GPUFL_ERR_FORMAT);
    end(&f);
}

/* As after a start with a journal of the version before. */
static gpufl_status read_without_mark(struct fixture *f, uint32_t file, uint64_t offset)
{
    struct tail_chunk chunk;
    struct file_known none = {0};
    char buf[256];
    struct tail_where where = {.root = f->fd,
                               .path = ID,
                               .channel = "device",
                               .layout = SESSION_LIVE,
                               .file = file,
                               .offset = offset,
                               .mark_at = offset,
                               .known = &none};
    return tail_read(&sys_real, &where, buf, sizeof buf, &chunk);
}

static uint64_t end_of(const struct fixture *f, const char *name)
{
    struct stat st;
    char path[700];
    snprintf(path, sizeof path, "%s/%s", f->live.dir, name);
    assert_int_equal(stat(path, &st), 0);
    return (uint64_t)st.st_size;
}

static void a_position_without_a_mark_needs_other_evidence(void **state)
{
    (void)state;
    struct fixture f;
    char path[700];
    begin(&f);
    live_line(&f.live, "device", "job_start", 1);
    uint64_t one = end_of(&f, "device.log");
    live_line(&f.live, "device", "x", 2);
    assert_int_equal(read_without_mark(&f, 1, one), GPUFL_OK);
    assert_int_equal(read_without_mark(&f, 1, one - 3), GPUFL_ERR_FORMAT);
    live_rotate(&f.live, "device", 1);
    live_line(&f.live, "device", "x", 3);
    live_line(&f.live, "device", "x", 4);
    uint64_t three = end_of(&f, "device.log") / 2;
    assert_int_equal(read_without_mark(&f, 1, one), GPUFL_OK);
    assert_int_equal(read_without_mark(&f, 2, three), GPUFL_OK);
    assert_int_equal(read_without_mark(&f, 2, three - 3), GPUFL_ERR_FORMAT);
    snprintf(path, sizeof path, "%s/device.1.log", f.live.dir);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(read_without_mark(&f, 1, three), GPUFL_ERR_FORMAT);
    assert_int_equal(read_without_mark(&f, 2, three), GPUFL_ERR_FORMAT);
    end(&f);
}

static void links_fifos_and_directories_are_not_opened(void **state)
{
    (void)state;
    struct fixture f;
    struct tail_chunk chunk;
    struct scan scan;
    char path[700];
    char buf[256];
    begin(&f);
    snprintf(path, sizeof path, "%s/device.log", f.live.dir);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_int_equal(read_at(&f, 1, 0, buf, &chunk), GPUFL_ERR_IO);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(read_at(&f, 1, 0, buf, &chunk),
                     GPUFL_ERR_IO); /* and does not block */
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(read_at(&f, 1, 0, buf, &chunk), GPUFL_ERR_IO);
    live_line(&f.live, "scope", "x", 1);
    assert_int_equal(scan_session(&sys_real, f.fd, ID, ID, &scan), GPUFL_OK);
    assert_int_equal(scan.channels, 1);
    assert_int_equal(scan.unread.names, 1);
    assert_int_equal(scan.unread.reason[UNREAD_IRREGULAR].names, 1);
    end(&f);
}

static void a_session_directory_that_is_a_link_is_not_entered(void **state)
{
    (void)state;
    struct fixture f;
    struct scan scan;
    char path[700];
    begin(&f);
    snprintf(path, sizeof path, "%s/link", f.root);
    assert_int_equal(symlink(ID, path), 0);
    assert_int_not_equal(scan_session(&sys_real, f.fd, "link", "link", &scan), GPUFL_OK);
    assert_int_not_equal(scan_session(&sys_real, f.fd, "../x", "x", &scan), GPUFL_OK);
    end(&f);
}

static void layouts_are_told_apart(void **state)
{
    (void)state;
    struct fixture f;
    struct scan scan;
    char dir[600];
    char fifo[700];
    begin(&f);
    live_line(&f.live, "device", "x", 1);
    assert_int_equal(scan_session(&sys_real, f.fd, ID, ID, &scan), GPUFL_OK);
    assert_int_equal(scan.layout, SESSION_LIVE);
    snprintf(dir, sizeof dir, "%s/plain", f.root);
    mkdir(dir, 0700);
    dirs_append(dir, "device.log", "{}\n");
    dirs_append(dir, ".gpufl-session.lock", "");
    assert_int_equal(scan_session(&sys_real, f.fd, "plain", "plain", &scan), GPUFL_OK);
    assert_int_equal(scan.layout,
                     SESSION_SHIFTING); /* a lock file alone proves nothing */
    dirs_append(dir, "device.1.log.gz", "x");
    assert_int_equal(scan_session(&sys_real, f.fd, "plain", "plain", &scan), GPUFL_OK);
    assert_int_equal(scan.layout, SESSION_SHIFTING);
    snprintf(fifo, sizeof fifo, "%s/.gpufl-window.z.1.json", dir);
    assert_int_equal(mkfifo(fifo, 0600), 0); /* whoever made it, it is no sidecar */
    assert_int_equal(scan_session(&sys_real, f.fd, "plain", "plain", &scan), GPUFL_OK);
    assert_int_equal(scan.layout, SESSION_SHIFTING);
    assert_int_equal(scan.unread.reason[UNREAD_IRREGULAR].names, 1);
    dirs_append(dir, ".gpufl-window.device.1.json", "{}");
    assert_int_equal(scan_session(&sys_real, f.fd, "plain", "plain", &scan), GPUFL_OK);
    assert_int_equal(scan.layout, SESSION_WINDOWS);
    end(&f);
}

static void a_lock_is_probed_without_being_taken(void **state)
{
    (void)state;
    struct fixture f;
    const char *lock = ID "/.gpufl-session.lock";
    begin(&f);
    assert_int_equal(liveness_probe(&sys_real, f.fd, lock, NULL, 0), WRITER_LIVE);
    assert_int_equal(liveness_probe(&sys_real, f.fd, lock, NULL, 0), WRITER_LIVE);
    live_close(&f.live);
    assert_int_equal(liveness_probe(&sys_real, f.fd, lock, NULL, 0), WRITER_GONE);
    assert_int_equal(liveness_probe(&sys_real, f.fd, "none", NULL, 0), WRITER_UNKNOWN);
    end(&f);
}

static void a_sealed_file_that_is_read_has_a_next_one_once_that_is_there(void **state)
{
    (void)state;
    struct fixture f;
    struct tail_chunk chunk;
    char buf[512];
    begin(&f);
    live_line(&f.live, "device", "x", 1);
    live_rotate(&f.live, "device", 1);
    struct tail_where where = {
        .root = f.fd, .path = ID, .channel = "device", .layout = SESSION_LIVE, .file = 1};
    assert_int_equal(tail_read(&sys_real, &where, buf, sizeof buf, &chunk), GPUFL_OK);
    where.offset = chunk.size;
    assert_false(tail_where_has_next(&sys_real, &where));
    live_line(&f.live, "device", "x", 2);
    assert_true(tail_where_has_next(&sys_real, &where));
    where.offset--; /* not all of it is read */
    assert_false(tail_where_has_next(&sys_real, &where));
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_position_means_the_same_bytes_before_and_after_a_rotation),
        cmocka_unit_test(links_fifos_and_directories_are_not_opened),
        cmocka_unit_test(a_session_directory_that_is_a_link_is_not_entered),
        cmocka_unit_test(layouts_are_told_apart),
        cmocka_unit_test(a_position_without_a_mark_needs_other_evidence),
        cmocka_unit_test(a_lock_is_probed_without_being_taken),
        cmocka_unit_test(a_sealed_file_that_is_read_has_a_next_one_once_that_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
