/* SPDX-License-Identifier: Apache-2.0 */
/* A compressed file beside the active one, or instead of it: only what is sure to be
 * elsewhere is passed over. */
#include "tests/support/check.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/boot_id.h"
#include "base/file.h"
#include "tests/support/dirs.h"
#include "tests/support/gz_costly.h"
#include "upload/source/gz_file.h"
#include "upload/source/scan_session.h"
#include "upload/source/tail.h"

#define ID    "11111111-1111-4111-8111-111111111111"
#define LINES 400

struct form {
    char *root;
    int fd; /* of the root */
    int dir;
    struct live_session live;
};

/* Numbers that compress badly, so that a part of the file yields a part of the lines. */
static void form_write(struct form *f, int lines)
{
    static unsigned random = 7;
    for (int i = 0; i < lines; i++) {
        random = random * 1664525u + 1013904223u;
        live_line(&f->live, "device", "x", (int)(random >> 2));
    }
}

static void form_begin(struct form *f)
{
    f->root = dirs_make();
    f->fd = open(f->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    live_open(&f->live, f->root, ID);
    form_write(f, LINES);
    f->dir = open(f->live.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(f->dir >= 0);
}

static void form_end(struct form *f)
{
    live_close(&f->live);
    close(f->dir);
    close(f->fd);
    dirs_remove(f->root);
}

static off_t form_size(const struct form *f, const char *name)
{
    struct stat st;
    assert_int_equal(fstatat(f->dir, name, &st, 0), 0);
    return st.st_size;
}

/* `device.log.gz` becomes one member that holds what \p name does. \return its size. */
static off_t form_pack(const struct form *f, const char *name)
{
    size_t budget = SIZE_MAX;
    int from = openat(f->dir, name, O_RDONLY | O_CLOEXEC);
    int to =
        openat(f->dir, "device.log.gz", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    struct gz_file *task = gz_file_open(GZ_COMPRESS);
    assert_true(from >= 0 && to >= 0 && task);
    assert_int_equal(gz_file_step(task, &sys_real, from, to, &budget), GPUFL_OK);
    gz_file_close(task);
    close(from);
    close(to);
    return form_size(f, "device.log.gz");
}

static void form_cut(const struct form *f, off_t bytes)
{
    int fd = openat(f->dir, "device.log.gz", O_WRONLY | O_CLOEXEC);
    assert_int_equal(ftruncate(fd, bytes), 0);
    close(fd);
}

static void form_flip(const struct form *f, off_t at)
{
    char byte;
    int fd = openat(f->dir, "device.log.gz", O_RDWR | O_CLOEXEC);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte = (char)(byte ^ 1);
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

/* Another member, which holds what no other file does. \return where it begins. */
static off_t form_add_member(const struct form *f)
{
    char data[512];
    off_t at = form_pack(f, "device.log");
    assert_int_equal(renameat(f->dir, "device.log.gz", f->dir, "first"), 0);
    dirs_append(f->live.dir, "more", "{\"type\":\"x\",\"n\":\"more\"}\n");
    ssize_t len = form_pack(f, "more");
    int more = openat(f->dir, "device.log.gz", O_RDONLY | O_CLOEXEC);
    assert_int_equal(pread(more, data, sizeof data, 0), len);
    close(more);
    int first = openat(f->dir, "first", O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(first, data, (size_t)len, at), len);
    close(first);
    assert_int_equal(renameat(f->dir, "first", f->dir, "device.log.gz"), 0);
    assert_int_equal(unlinkat(f->dir, "more", 0), 0);
    return at;
}

static void form_tell(const struct form *f, const char *boot_id, int number, off_t bytes)
{
    live_tell(&f->live, boot_id, "device", number, (long)bytes);
}

static void form_remove(const struct form *f, const char *name)
{
    assert_true(unlinkat(f->dir, name, 0) == 0 || errno == ENOENT);
}

/* \return how many files are not read. */
static unsigned form_unread(const struct form *f)
{
    struct scan scan;
    assert_int_equal(scan_session(&sys_real, f->fd, ID, ID, &scan), GPUFL_OK);
    return scan.unread.names;
}

static void what_is_read_to_its_end_and_is_there_is_passed_over(void **state)
{
    (void)state;
    struct form f;
    form_begin(&f);
    form_pack(&f, "device.log");
    assert_int_equal(form_unread(&f), 0);
    live_line(&f.live, "device", "x", 1);
    assert_int_equal(form_unread(&f), 0);
    dirs_append(f.live.dir, "device.log", "{\"ty"); /* its writer was killed */
    form_pack(&f, "device.log");
    assert_int_equal(form_unread(&f), 0);
    dirs_append(f.live.dir, "device.log", "pe\":1}\n");
    assert_int_equal(form_unread(&f), 1);
    form_end(&f);
}

static void what_cannot_be_read_to_its_end_is_no_copy(void **state)
{
    (void)state;
    struct form f;
    form_begin(&f);
    form_tell(&f, NULL, 1, form_size(&f, "device.log"));
    off_t second = form_add_member(&f);
    assert_int_equal(form_unread(&f), 1);
    form_flip(&f, second - 6); /* the checksum of the first member */
    assert_int_equal(form_unread(&f), 1);
    form_flip(&f, second - 6);
    form_flip(&f, second); /* the second member is none */
    assert_int_equal(form_unread(&f), 1);
    form_cut(&f, second);
    assert_int_equal(form_unread(&f), 0);
    form_flip(&f, second / 2);
    assert_int_equal(form_unread(&f), 1);
    form_end(&f);
}

static void what_holds_no_whole_line_is_no_copy(void **state)
{
    (void)state;
    struct form f;
    form_begin(&f);
    form_tell(&f, NULL, 1, form_size(&f, "device.log"));
    form_pack(&f, "device.log");
    form_cut(&f, 40);
    assert_int_equal(form_unread(&f), 1);
    form_cut(&f, 0);
    assert_int_equal(form_unread(&f), 1);
    dirs_append(f.live.dir, "part", "");
    form_pack(&f, "part");
    assert_int_equal(form_unread(&f), 1);
    dirs_append(f.live.dir, "part", "{\"type\":\"");
    form_pack(&f, "part");
    assert_int_equal(form_unread(&f), 1);
    form_end(&f);
}

static void
one_that_is_cut_off_is_passed_over_if_its_writer_told_that_all_is_there(void **state)
{
    (void)state;
    struct form f;
    form_begin(&f);
    off_t size = form_size(&f, "device.log");
    form_cut(&f, form_pack(&f, "device.log") - 1000);
    assert_int_equal(form_unread(&f), 1); /* nothing is told */
    form_tell(&f, NULL, 1, size);
    assert_int_equal(form_unread(&f), 0);
    form_tell(&f, NULL, 1, size + 1);
    assert_int_equal(form_unread(&f), 1);
    form_tell(&f, NULL, 2, size);
    assert_int_equal(form_unread(&f), 1);
    form_tell(&f, NULL, 1, -1);
    assert_int_equal(form_unread(&f), 1);
    form_tell(&f, "00000000-0000-4000-8000-000000000000", 1, size);
    assert_int_equal(form_unread(&f), 1);
    live_rotate(&f.live, "device", 1); /* how large that was is not told any more */
    live_line(&f.live, "device", "x", 1);
    form_tell(&f, NULL, 2, form_size(&f, "device.log"));
    assert_int_equal(form_unread(&f), 1);
    form_end(&f);
}

static gpufl_status form_tail(const struct form *f, const struct sys *sys)
{
    char buf[4096];
    struct tail_chunk chunk;
    struct file_known known = {0};
    struct tail_where where = {.root = f->fd,
                               .path = ID,
                               .channel = "device",
                               .layout = SESSION_LIVE,
                               .file = 2,
                               .known = &known};
    return tail_read(sys, &where, buf, sizeof buf, &chunk);
}

static bool form_told_is_reached_in(const struct form *f, uint32_t file, off_t offset)
{
    struct tail_where where = {.root = f->fd,
                               .path = ID,
                               .channel = "device",
                               .layout = SESSION_LIVE,
                               .file = file,
                               .offset = (uint64_t)offset};
    return tail_where_reaches_told(&sys_real, &where);
}

static bool form_told_is_reached(const struct form *f, off_t offset)
{
    return form_told_is_reached_in(f, 1, offset);
}

/* A power failure may take back what a line of another boot tells of. */
static void a_size_counts_if_the_owner_told_it_on_this_boot(void **state)
{
    (void)state;
    struct form f;
    form_begin(&f);
    form_tell(&f, NULL, 1, 100);
    assert_true(form_told_is_reached(&f, 100));
    assert_false(form_told_is_reached(&f, 99));
    assert_true(form_told_is_reached(&f, 101)); /* it may come from an earlier copy */
    assert_true(form_told_is_reached_in(&f, 2, 0));
    if (geteuid() == 0) { /* somebody else may have planted it */
        assert_int_equal(fchownat(f.dir, ".gpufl-session.lock", 65534, 65534, 0), 0);
        assert_false(form_told_is_reached(&f, 100));
        assert_int_equal(fchownat(f.dir, ".gpufl-session.lock", 0, 0, 0), 0);
        assert_true(form_told_is_reached(&f, 100));
    }
    form_tell(&f, NULL, 1, LONG_MAX);
    assert_false(form_told_is_reached(&f, 100));
    for (long forged = -1; forged; forged = forged == -1 ? LONG_MIN : 0) {
        form_tell(&f, NULL, 1, forged); /* no size: nor does the number count */
        assert_false(form_told_is_reached(&f, 100));
        assert_false(form_told_is_reached_in(&f, 2, 0));
    }
    form_tell(&f, "00000000-0000-4000-8000-000000000000", 1, 100);
    assert_false(form_told_is_reached(&f, 100));
    form_end(&f);
}

static struct second_place form_place(const struct form *f, const struct sys *sys,
                                      struct second_known *known)
{
    return (struct second_place){
        .sys = sys, .dir = f->dir, .channel = "device", .known = known};
}

static enum second_form form_of(const struct form *f, const struct sys *sys,
                                struct second_known *known)
{
    const struct second_place place = form_place(f, sys, known);
    struct second_search *search = NULL;
    int64_t budget = INT64_MAX;
    enum second_form form;
    assert_int_equal(second_form_step(&place, &search, &budget, &form), GPUFL_OK);
    assert_null(search);
    return form;
}

static enum second_form form_known(const struct form *f, struct second_known *known)
{
    return form_of(f, &sys_real, known);
}

static bool form_fails; /* each read of a compressed file, or of a sealed one */
static const char *form_failing;

static ssize_t form_pread(int fd, void *buf, size_t len, off_t at)
{
    char link[40];
    char path[700];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    const char *name = strrchr(path, '/');
    if (form_fails && name && strcmp(name + 1, form_failing) == 0) {
        errno = EIO;
        return -1;
    }
    return pread(fd, buf, len, at);
}

static void an_error_is_neither_and_is_forgotten(void **state)
{
    (void)state;
    static const char *const failing[] = {"device.log.gz", "device.1.log"};
    struct sys sys = sys_real;
    sys.pread = form_pread;
    for (size_t i = 0; i < sizeof failing / sizeof *failing; i++) {
        struct form f;
        struct second_known known = {0};
        form_begin(&f);
        form_pack(&f, "device.log");
        live_rotate(&f.live, "device", 1);
        form_remove(&f, "device.log");
        form_failing = failing[i];
        form_fails = true;
        assert_int_equal(form_of(&f, &sys, &known), SECOND_FORM_UNREADABLE);
        assert_int_equal(known.stamp, 0);
        assert_int_equal(form_tail(&f, &sys), GPUFL_ERR_IO);
        form_fails = false;
        assert_int_equal(form_of(&f, &sys, &known), SECOND_FORM_COPY);
        form_fails = true; /* it is not read again */
        assert_int_equal(form_of(&f, &sys, &known), SECOND_FORM_COPY);
        form_fails = false;
        assert_int_equal(form_tail(&f, &sys), GPUFL_ERR_NOT_FOUND);
        form_end(&f);
    }
}

/* Nothing else holds what it does once the active file is gone. */
static void a_copy_of_the_active_file_is_one_while_that_is_there(void **state)
{
    (void)state;
    struct form f;
    struct second_known known = {0};
    form_begin(&f);
    form_pack(&f, "device.log");
    assert_int_equal(form_known(&f, &known), SECOND_FORM_COPY_ACTIVE);
    assert_int_not_equal(known.stamp, 0);
    live_line(&f.live, "device", "x", 1);
    assert_int_equal(form_known(&f, &known), SECOND_FORM_COPY_ACTIVE);
    assert_int_equal(renameat(f.dir, "device.log", f.dir, "aside"), 0);
    assert_int_equal(form_known(&f, &known), SECOND_FORM_OTHER);
    assert_int_equal(renameat(f.dir, "aside", f.dir, "device.log"), 0);
    assert_int_equal(form_known(&f, &known), SECOND_FORM_COPY_ACTIVE);
    assert_int_equal(renameat(f.dir, "device.log", f.dir, "aside"), 0);
    dirs_append(f.live.dir, "device.log", "{\"type\":\"job_start\"}\n");
    assert_int_equal(form_known(&f, &known), SECOND_FORM_OTHER);
    assert_int_equal(renameat(f.dir, "aside", f.dir, "device.1.log"), 0);
    known.files = 1; /* there were others */
    assert_int_equal(form_known(&f, &known), SECOND_FORM_COPY);
    form_end(&f);
}

/* What was compressed is of an earlier file then, be it one that was delivered and
 * deleted: the writer was killed between the two renames of a rotation, or has told of
 * nothing in the new file, which another tool has removed. */
static void a_file_without_a_byte_was_not_compressed(void **state)
{
    (void)state;
    const struct {
        int number, bytes;
        bool next;
    } row[] = {{2, 90, true}, {2, 90, false}, {3, 0, false}, {3, 90, false}};
    for (unsigned i = 0; i < sizeof row / sizeof *row; i++) {
        char boot_id[BOOT_ID_TEXT];
        struct form f;
        struct scan scan;
        struct tail_chunk chunk;
        char byte;
        bool begun = row[i].bytes && row[i].number == 3;
        form_begin(&f);
        form_pack(&f, "device.log");
        assert_int_equal(renameat(f.dir, "device.log", f.dir, "device.2.log"), 0);
        close(openat(f.dir, "device.2.log", O_WRONLY | O_TRUNC | O_CLOEXEC));
        dirs_append(f.live.dir, "device.2.log", "{\"type\":\"x\",\"n\":\"second\"}\n");
        boot_id_get(boot_id);
        form_tell(&f, boot_id, row[i].number, row[i].bytes);
        if (row[i].next) {
            dirs_append(f.live.dir, ".gpufl-next.device.3", "");
        }
        assert_int_equal(scan_session(&sys_real, f.fd, ID, ID, &scan), GPUFL_OK);
        const struct scan_channel *c = scan_find_channel(&scan, "device");
        assert_int_equal(c->has_active_gz, begun);
        assert_int_equal(scan.unread.names, !begun);
        struct tail_where where = {
            .root = f.fd, .path = ID, .channel = "device", .file = 3};
        assert_int_equal(tail_read(&sys_real, &where, &byte, 1, &chunk),
                         begun ? GPUFL_OK : GPUFL_ERR_NOT_FOUND);
        form_end(&f);
    }
}

/* \return how many steps it takes. */
static unsigned form_steps(const struct form *f, struct second_known *known,
                           enum second_form *form)
{
    const struct second_place place = form_place(f, &sys_real, known);
    struct second_search *search = NULL;
    unsigned steps = 1;
    for (;; steps++) {
        int64_t budget = 1;
        gpufl_status status = second_form_step(&place, &search, &budget, form);
        if (status == GPUFL_OK) {
            return steps;
        }
        assert_int_equal(status, GPUFL_BUSY);
        assert_true(budget <= 0);
    }
}

/* Sparse files cost their owner nothing: all of them together are compared no longer than
 * one may be, in steps, and again only once something changes. */
static void what_takes_long_is_compared_in_steps_up_to_a_limit(void **state)
{
    (void)state;
    struct form f;
    struct second_known known = {0};
    enum second_form form;
    char name[40];
    form_begin(&f);
    form_remove(&f, "device.log");
    for (int i = 1; i <= 12; i++) {
        snprintf(name, sizeof name, "device.%d.log", i);
        dirs_append(f.live.dir, name, "");
        int fd = openat(f.dir, name, O_WRONLY | O_CLOEXEC);
        assert_int_equal(ftruncate(fd, 32 << 20), 0);
        close(fd);
    }
    form_pack(&f, "device.1.log");
    unsigned steps = form_steps(&f, &known, &form);
    assert_int_equal(form, SECOND_FORM_OTHER);
    assert_in_range(steps, (128 << 20) / (16 << 10), (128 << 20) / (16 << 10) + 100);
    const struct second_place place = form_place(&f, &sys_real, &known);
    struct second_search *search = NULL;
    int64_t budget = 0;
    assert_int_equal(second_form_step(&place, &search, &budget, &form), GPUFL_OK);
    assert_int_equal(form, SECOND_FORM_OTHER); /* it is known */
    known.files = 1;
    assert_int_equal(second_form_step(&place, &search, &budget, &form), GPUFL_BUSY);
    second_form_stop(search);
    form_end(&f);
}

/* What a comparison costs is taken from the budget, though it holds little. */
static void what_takes_long_to_decode_counts_as_it_costs(void **state)
{
    (void)state;
    struct form f;
    struct second_known known = {0};
    struct second_search *search = NULL;
    enum second_form form;
    int64_t budget = INT64_MAX;
    const char *line = "{\"type\":\"x\",\"pad\":\"as long as most of them are\"}\n";
    form_begin(&f);
    form_remove(&f, "device.log");
    gz_costly_make(f.live.dir, "device.1.log.gz", line, 1000, 2);
    gz_costly_make(f.live.dir, "device.log.gz", line, 1000, 2);
    const struct second_place place = form_place(&f, &sys_real, &known);
    assert_int_equal(second_form_step(&place, &search, &budget, &form), GPUFL_OK);
    assert_int_equal(form, SECOND_FORM_COPY);
    /* Both are compared, and one is checked. */
    assert_true(INT64_MAX - budget > 3 * 1000 * 2 * (int64_t)GZ_COSTLY_GROUP_BYTES * 32);
    form_end(&f);
}

static void what_changes_while_it_is_compared_is_compared_again(void **state)
{
    (void)state;
    struct form f;
    struct second_known known = {0};
    struct second_search *search = NULL;
    int64_t budget = 1;
    enum second_form form;
    form_begin(&f);
    form_pack(&f, "device.log");
    const struct second_place place = form_place(&f, &sys_real, &known);
    assert_int_equal(second_form_step(&place, &search, &budget, &form), GPUFL_BUSY);
    form_flip(&f, form_size(&f, "device.log.gz") - 6);
    form_flip(&f, form_size(&f, "device.log.gz") - 6);
    budget = INT64_MAX;
    assert_int_equal(second_form_step(&place, &search, &budget, &form), GPUFL_OK);
    assert_int_equal(form, SECOND_FORM_UNREADABLE);
    assert_int_equal(known.stamp, 0);
    assert_int_equal(form_known(&f, &known), SECOND_FORM_COPY_ACTIVE);
    form_end(&f);
}

/* What it yields was sent with the sealed file. */
static void
one_that_is_cut_off_and_begins_a_sealed_file_is_not_the_active_one(void **state)
{
    (void)state;
    struct form f;
    form_begin(&f);
    form_cut(&f, form_pack(&f, "device.log") - 1000);
    live_rotate(&f.live, "device", 1);
    form_remove(&f, "device.log");
    assert_int_equal(form_unread(&f), 1);
    assert_int_equal(form_tail(&f, &sys_real), GPUFL_ERR_NOT_FOUND);
    form_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_to_its_end_and_is_there_is_passed_over),
        cmocka_unit_test(what_cannot_be_read_to_its_end_is_no_copy),
        cmocka_unit_test(what_holds_no_whole_line_is_no_copy),
        cmocka_unit_test(
            one_that_is_cut_off_is_passed_over_if_its_writer_told_that_all_is_there),
        cmocka_unit_test(a_size_counts_if_the_owner_told_it_on_this_boot),
        cmocka_unit_test(an_error_is_neither_and_is_forgotten),
        cmocka_unit_test(a_copy_of_the_active_file_is_one_while_that_is_there),
        cmocka_unit_test(a_file_without_a_byte_was_not_compressed),
        cmocka_unit_test(what_takes_long_is_compared_in_steps_up_to_a_limit),
        cmocka_unit_test(what_takes_long_to_decode_counts_as_it_costs),
        cmocka_unit_test(what_changes_while_it_is_compared_is_compared_again),
        cmocka_unit_test(
            one_that_is_cut_off_and_begins_a_sealed_file_is_not_the_active_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
