/* SPDX-License-Identifier: Apache-2.0 */
/* A write that the disk takes only a part of leaves whole lines. */
#include "tests/support/check.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector-lib/core/session_dir.h"
#include "schema/layout.h"
#include "tests/support/dirs.h"

#define LINE "{\"n\":1}\n"

/* What others do between the creation of a lock file and its locking. */
struct racer {
    int locks;   /* so many files they lock for reading, whatever their mode */
    int made;    /* so many were made … */
    mode_t mode; /* …, the last one with this mode */
};

static struct racer racer;

static void racer_lock(int dir, const char *path)
{
    struct flock whole = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    int (*real)(int, const char *, int, ...) =
        (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, "openat");
    int fd = real(dir, path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_OFD_SETLK, &whole), 0); /* until the test has ended */
}

int openat(int dir, const char *path, int flags, ...)
{
    int (*real)(int, const char *, int, ...) =
        (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, "openat");
    struct stat st;
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    int fd = real(dir, path, flags, mode);
    if (fd >= 0 && (flags & O_CREAT) && strcmp(path, LAYOUT_LOCK) == 0) {
        assert_int_equal(fstat(fd, &st), 0);
        racer.mode = st.st_mode & 0777;
        if (racer.made++ < racer.locks) {
            racer_lock(dir, path);
        }
    }
    return fd;
}

struct recording {
    char *root;
    struct session_dir dir;
};

static void recording_open(struct recording *r)
{
    r->root = dirs_make();
    r->dir = (struct session_dir){0};
    assert_int_equal(session_dir_open(&r->dir, r->root), GPUFL_OK);
    r->dir.rotate_bytes = 1000;
}

static void recording_close(struct recording *r)
{
    session_dir_close(&r->dir);
    dirs_remove(r->root);
}

/* Appends to a file that cannot be longer than \p most. */
static size_t recording_append_text(struct recording *r, const char *text, rlim_t most)
{
    struct rlimit usual;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &usual), 0);
    const struct rlimit limit = {.rlim_cur = most, .rlim_max = usual.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    size_t kept = session_dir_append(&r->dir, CHANNEL_DEVICE, text, strlen(text));
    int saved = errno;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &usual), 0);
    errno = saved;
    return kept;
}

static size_t recording_append(struct recording *r, rlim_t most)
{
    return recording_append_text(r, LINE, most);
}

static void recording_has(const struct recording *r, const char *text)
{
    char found[200] = "";
    ssize_t n = pread(r->dir.file[CHANNEL_DEVICE].own.fd, found, sizeof found - 1, 0);
    assert_true(n >= 0);
    assert_string_equal(found, text);
}

/* Exchanges the active file for one that \p has that, and no longer gets shorter. */
static void recording_on_a_disk_that_cuts_nothing(struct recording *r, const char *has)
{
    struct channel_file *file = &r->dir.file[CHANNEL_DEVICE];
    int fd = memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    assert_int_equal(write(fd, has, strlen(has)), strlen(has));
    own_fd_close(&file->own);
    assert_true(own_fd_take(&file->own, fd));
}

/* What is told in the lock file needs 512 bytes. */
static void half_a_line_is_cut_off(void **state)
{
    (void)state;
    struct recording r;
    recording_open(&r);
    assert_int_equal(recording_append(&r, RLIM_INFINITY), strlen(LINE));
    char lines[600];
    memset(lines, ' ', sizeof lines);
    memcpy(lines, LINE, strlen(LINE));
    memcpy(lines + sizeof lines - 2, "\n", 2);
    assert_int_equal(recording_append_text(&r, lines, 512), strlen(LINE));
    assert_int_equal(errno, EFBIG);
    recording_has(&r, LINE);
    assert_int_equal(r.dir.file[CHANNEL_DEVICE].size_bytes, strlen(LINE));
    recording_close(&r);
}

static void a_file_that_may_not_grow_is_followed_by_another_one(void **state)
{
    (void)state;
    struct recording r;
    recording_open(&r);
    for (size_t i = 0; i < 3 * 64; i++) {
        assert_int_equal(recording_append(&r, 512 + i % 8), strlen(LINE));
    }
    assert_int_equal(r.dir.file[CHANNEL_DEVICE].rotated, 2);
    recording_close(&r);
}

static void nothing_is_written_behind_half_a_line(void **state)
{
    (void)state;
    struct recording r;
    recording_open(&r);
    recording_on_a_disk_that_cuts_nothing(&r, "");
    struct channel_file *file = &r.dir.file[CHANNEL_DEVICE];
    assert_int_equal(write(file->own.fd, "{\"ha", 4), 4);
    channel_file_tear(file, 4);
    assert_int_equal(recording_append(&r, RLIM_INFINITY), 0);
    assert_int_equal(errno, EPERM);
    recording_has(&r, "{\"ha");
    recording_close(&r);
}

static void half_a_line_that_could_not_be_cut_off_is_before_the_next_ones(void **state)
{
    (void)state;
    struct recording r;
    recording_open(&r);
    struct channel_file *file = &r.dir.file[CHANNEL_DEVICE];
    assert_int_equal(recording_append(&r, RLIM_INFINITY), strlen(LINE));
    assert_int_equal(write(file->own.fd, "{\"ha", 4), 4);
    channel_file_tear(file, 4);
    assert_int_equal(recording_append(&r, RLIM_INFINITY), strlen(LINE));
    recording_has(&r, LINE LINE);
    assert_int_equal(file->told_bytes, 2 * strlen(LINE));
    recording_close(&r);
}

/* As people do when a disk is full. */
static void a_file_that_was_emptied_is_not_made_longer(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++) {
        struct recording r;
        recording_open(&r);
        struct channel_file *file = &r.dir.file[CHANNEL_DEVICE];
        assert_int_equal(recording_append(&r, RLIM_INFINITY), strlen(LINE));
        assert_int_equal(recording_append(&r, RLIM_INFINITY), strlen(LINE));
        if (!late) {
            assert_int_equal(ftruncate(file->own.fd, 0), 0);
        }
        assert_int_equal(write(file->own.fd, "{\"ha", 4), 4);
        channel_file_tear(file, 4);
        if (late) {
            assert_int_equal(ftruncate(file->own.fd, 0), 0);
        }
        assert_int_equal(recording_append(&r, RLIM_INFINITY), strlen(LINE));
        recording_has(&r, LINE);
        recording_close(&r);
    }
}

static void nobody_else_can_open_the_lock_file_before_it_is_locked(void **state)
{
    (void)state;
    const mode_t masks[] = {0, 022, 027, 077};
    for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++) {
        struct recording r;
        struct stat st;
        racer = (struct racer){0};
        mode_t usual = umask(masks[i]);
        recording_open(&r);
        umask(usual);
        assert_int_equal(racer.made, 1);
        assert_int_equal(racer.mode, 0600);
        assert_int_equal(fstat(r.dir.lock.file.fd, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0666 & ~masks[i]);
        recording_close(&r);
    }
}

/* Where the file system has no modes. */
static void a_lock_file_that_another_locks_first_is_made_anew(void **state)
{
    (void)state;
    struct recording r;
    racer = (struct racer){.locks = 5};
    recording_open(&r);
    assert_true(r.dir.lock.held);
    assert_int_equal(racer.made, 6);
    recording_close(&r);
}

/* The program closes its descriptors, and who waited for the lock has it. */
static void a_lock_that_another_has_taken_is_told_and_taken_back(void **state)
{
    (void)state;
    struct recording r;
    char told[LAYOUT_TOLD_BYTES + 1] = "";
    struct flock whole = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    racer = (struct racer){0};
    recording_open(&r);
    int other = openat(r.dir.own.fd, LAYOUT_LOCK, O_RDONLY | O_CLOEXEC);
    assert_true(other >= 0);
    close(r.dir.lock.file.fd);
    assert_int_equal(fcntl(other, F_OFD_SETLK, &whole), 0);
    for (int times = 0; times < 2; times++) {
        session_dir_mend(&r.dir);
        assert_true(r.dir.lock.lost);
        assert_int_equal(pread(other, told, LAYOUT_TOLD_BYTES, 0), LAYOUT_TOLD_BYTES);
        assert_non_null(strstr(told, "\"lock_file\":\"lost\""));
    }
    whole.l_type = F_UNLCK;
    assert_int_equal(fcntl(other, F_OFD_SETLK, &whole), 0);
    session_dir_mend(&r.dir);
    assert_false(r.dir.lock.lost);
    assert_int_equal(pread(other, told, LAYOUT_TOLD_BYTES, 0), LAYOUT_TOLD_BYTES);
    assert_null(strstr(told, "lost"));
    whole.l_type = F_RDLCK;
    assert_int_equal(fcntl(other, F_OFD_SETLK, &whole), -1);
    close(other);
    recording_close(&r);
}

/* It was cut, and written on behind half a line. */
static void only_whole_lines_that_are_left_of_a_cut_file_count(void **state)
{
    static const char line[] = "{\"version\":3,\"type\":\"scope_event_batch\",\"rows\":[["
                               "0,1,1,0,9],[5,1,1,1,9]]}\n";
    const size_t len = sizeof line - 1;
    (void)state;
    struct recording r;
    recording_open(&r);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(session_dir_append(&r.dir, CHANNEL_SCOPE, line, len), len);
        session_parts_note_pairs(&r.dir.parts[CHANNEL_SCOPE], 1);
    }
    int fd = r.dir.file[CHANNEL_SCOPE].own.fd;
    assert_int_equal(ftruncate(fd, 2 * (off_t)len - 4), 0);
    assert_int_equal(write(fd, line, len), len);
    session_dir_restore_names(&r.dir);
    const struct session_amount lost = session_dir_lost(&r.dir, CHANNEL_SCOPE);
    assert_int_equal(lost.lines, 3);
    assert_int_equal(lost.bytes, len + 4);
    assert_int_equal(lost.pairs, 3);
    assert_int_equal(lost.rows.count[ROWS_SCOPES], 6);
    recording_close(&r);
}

static void told_of(const struct recording *r, char told[LAYOUT_TOLD_BYTES + 1])
{
    ssize_t n = pread(r->dir.lock.file.fd, told, LAYOUT_TOLD_BYTES, 0);
    assert_int_equal(n, LAYOUT_TOLD_BYTES);
    told[LAYOUT_TOLD_BYTES] = '\0';
}

/* Until then, a file may lack its last append if the job was killed. */
static void an_append_that_is_over_is_told(void **state)
{
    (void)state;
    struct recording r;
    char told[LAYOUT_TOLD_BYTES + 1];
    recording_open(&r);
    assert_int_equal(recording_append(&r, RLIM_INFINITY), strlen(LINE));
    told_of(&r, told);
    assert_non_null(strstr(told, "\"before\":{\"device\":0}"));
    session_dir_restore_names(&r.dir);
    told_of(&r, told);
    assert_non_null(strstr(told, "\"before\":{}"));
    recording_close(&r);
}

/* It may be cut off while the disk takes nothing else: a file with fewer bytes than are
 * told has been cut by others. */
static void half_a_line_is_told_whatever_another_channel_appends(void **state)
{
    (void)state;
    struct recording r;
    char told[LAYOUT_TOLD_BYTES + 1];
    char before[100];
    recording_open(&r);
    struct channel_file *file = &r.dir.file[CHANNEL_DEVICE];
    assert_int_equal(recording_append(&r, RLIM_INFINITY), strlen(LINE));
    assert_int_equal(write(file->own.fd, "{\"ha", 4), 4);
    channel_file_tear(file, 4);
    assert_int_equal(session_dir_append(&r.dir, CHANNEL_SCOPE, LINE, strlen(LINE)),
                     strlen(LINE));
    told_of(&r, told);
    snprintf(before, sizeof before, "\"before\":{\"device\":%zu,\"scope\":0}",
             strlen(LINE));
    assert_non_null(strstr(told, before));
    recording_close(&r);
}

/* As by truncate(1). The file is sealed as it is, at once or as soon as that can be. */
static void nothing_is_written_behind_half_a_line_that_others_have_left(void **state)
{
    (void)state;
    struct recording r;
    recording_open(&r);
    const struct channel_file *file = &r.dir.file[CHANNEL_DEVICE];
    assert_int_equal(recording_append(&r, RLIM_INFINITY), strlen(LINE));
    assert_int_equal(ftruncate(file->own.fd, 4), 0);
    assert_int_equal(mkdirat(r.dir.own.fd, ".gpufl-next.device.2", 0755), 0);
    session_dir_restore_names_now_and_then(&r.dir, 0);
    assert_int_equal(session_dir_lost(&r.dir, CHANNEL_DEVICE).lines, 1);
    assert_int_equal(recording_append(&r, RLIM_INFINITY), 0);
    assert_int_equal(unlinkat(r.dir.own.fd, ".gpufl-next.device.2", AT_REMOVEDIR), 0);
    assert_int_equal(recording_append(&r, RLIM_INFINITY), strlen(LINE));
    assert_int_equal(file->rotated, 1);
    assert_int_equal(file->size_bytes, strlen(LINE));
    assert_int_equal(session_dir_lost(&r.dir, CHANNEL_DEVICE).lines, 1);
    recording_close(&r);
}

/* It is the append that notices the cut, as it would rotate. */
static void nothing_is_written_behind_half_a_line_that_a_rotation_finds(void **state)
{
    (void)state;
    struct recording r;
    recording_open(&r);
    assert_int_equal(recording_append(&r, RLIM_INFINITY), strlen(LINE));
    r.dir.rotate_bytes = strlen(LINE);
    assert_int_equal(ftruncate(r.dir.file[CHANNEL_DEVICE].own.fd, 4), 0);
    assert_int_equal(mkdirat(r.dir.own.fd, ".gpufl-next.device.2", 0755), 0);
    assert_int_equal(recording_append(&r, RLIM_INFINITY), 0);
    recording_has(&r, "{\"n\"");
    assert_int_equal(unlinkat(r.dir.own.fd, ".gpufl-next.device.2", AT_REMOVEDIR), 0);
    assert_int_equal(recording_append(&r, RLIM_INFINITY), strlen(LINE));
    assert_int_equal(r.dir.file[CHANNEL_DEVICE].rotated, 1);
    recording_has(&r, LINE);
    recording_close(&r);
}

/* Between the look at the size and the append. */
static void a_cut_just_before_an_append_merges_no_lines(void **state)
{
    (void)state;
    const off_t left[] = {0, 4, 8, 12};
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++) {
        struct recording r;
        recording_open(&r);
        assert_int_equal(recording_append(&r, RLIM_INFINITY), strlen(LINE));
        assert_int_equal(recording_append(&r, RLIM_INFINITY), strlen(LINE));
        assert_int_equal(ftruncate(r.dir.file[CHANNEL_DEVICE].own.fd, left[i]), 0);
        assert_int_equal(recording_append_text(&r, "{\"n\":2}\n", RLIM_INFINITY), 8);
        recording_has(&r, left[i] < 8 ? "{\"n\":2}\n" : LINE "{\"n\":2}\n");
        session_dir_restore_names_now_and_then(&r.dir, 0);
        assert_int_equal(session_dir_lost(&r.dir, CHANNEL_DEVICE).lines,
                         left[i] < 8 ? 2 : 1);
        recording_close(&r);
    }
}

/* The next beat would take the line that others have left half of for a whole one. */
static void
lines_that_a_cut_has_merged_are_not_sealed_before_they_are_cut_off(void **state)
{
    (void)state;
    struct recording r;
    recording_open(&r);
    assert_int_equal(recording_append(&r, RLIM_INFINITY), strlen(LINE));
    assert_int_equal(recording_append(&r, RLIM_INFINITY), strlen(LINE));
    recording_on_a_disk_that_cuts_nothing(&r, "{\"ha");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(recording_append(&r, RLIM_INFINITY), 0);
        assert_int_equal(errno, EPERM);
        session_dir_restore_names(&r.dir);
        assert_int_equal(r.dir.file[CHANNEL_DEVICE].rotated, 0);
        recording_has(&r, "{\"ha" LINE);
    }
    recording_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_a_line_is_cut_off),
        cmocka_unit_test(a_file_that_may_not_grow_is_followed_by_another_one),
        cmocka_unit_test(nothing_is_written_behind_half_a_line),
        cmocka_unit_test(half_a_line_that_could_not_be_cut_off_is_before_the_next_ones),
        cmocka_unit_test(a_file_that_was_emptied_is_not_made_longer),
        cmocka_unit_test(nobody_else_can_open_the_lock_file_before_it_is_locked),
        cmocka_unit_test(a_lock_file_that_another_locks_first_is_made_anew),
        cmocka_unit_test(a_lock_that_another_has_taken_is_told_and_taken_back),
        cmocka_unit_test(only_whole_lines_that_are_left_of_a_cut_file_count),
        cmocka_unit_test(an_append_that_is_over_is_told),
        cmocka_unit_test(half_a_line_is_told_whatever_another_channel_appends),
        cmocka_unit_test(nothing_is_written_behind_half_a_line_that_others_have_left),
        cmocka_unit_test(nothing_is_written_behind_half_a_line_that_a_rotation_finds),
        cmocka_unit_test(a_cut_just_before_an_append_merges_no_lines),
        cmocka_unit_test(
            lines_that_a_cut_has_merged_are_not_sealed_before_they_are_cut_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
