/* SPDX-License-Identifier: Apache-2.0 */
/* The lock under which a crashed writer's files are published. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "schema/layout.h"
#include "tests/support/dirs.h"
#include "tests/support/rig_session.h"
#include "upload/source/salvage.h"

static int ends[2];
static pid_t child;

/* What a dead writer left, and how it is salvaged. */
static struct {
    char *root;
    char path[600];
    int session;
    struct sys sys;
    struct log quiet;
    size_t budget;
    uint64_t there;
    bool lists_many;
    struct salvage_place place;
    enum salvage_result second; /* of a salvage that begins while this one is at work */
    mode_t part;                /* mode in which what is compressed was made */
} stand;

static int stand_set_up(void **state)
{
    (void)state;
    stand.root = dirs_make();
    stand.sys = sys_real;
    stand.budget = 1 << 20;
    stand.lists_many = true;
    stand.second = SALVAGE_STEP;
    stand.part = 0;
    child = 0;
    snprintf(stand.path, sizeof stand.path, "%s/%s", stand.root, RIG_ID);
    assert_int_equal(mkdir(stand.path, 0700), 0);
    dirs_append(stand.path, LAYOUT_LOCK, "");
    stand.session = open(stand.path, O_RDONLY | O_DIRECTORY);
    assert_int_equal(mkdirat(stand.session, LAYOUT_TMP_DIR, 0700), 0);
    stand.place = (struct salvage_place){.sys = &stand.sys,
                                         .log = &stand.quiet,
                                         .root = open(stand.root, O_RDONLY | O_DIRECTORY),
                                         .path = RIG_ID,
                                         .id = RIG_ID,
                                         .readings = salvage_readings_new(),
                                         .budget = &stand.budget,
                                         .there = &stand.there,
                                         .lists_many = &stand.lists_many};
    return 0;
}

static int stand_tear_down(void **state)
{
    (void)state;
    close(stand.session);
    close(stand.place.root);
    salvage_readings_free(stand.place.readings);
    dirs_remove(stand.root);
    return 0;
}

/* \return the lock as a process that opens the file holds it. */
static int hold(short type)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET};
    int fd = openat(stand.session, LAYOUT_LOCK, type == F_RDLCK ? O_RDONLY : O_RDWR);
    assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);
    return fd;
}

/* Also what a child has inherited. */
static void release(int fd)
{
    struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    if (fd >= 0) {
        assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);
        close(fd);
    }
}

/* Another thread of the job forks while the lock is held. */
static int open_and_fork(int dir, const char *path, int flags, mode_t mode)
{
    if (strcmp(path, LAYOUT_TMP_DIR) == 0 && !child) {
        char byte;
        child = fork();
        if (child == 0) {
            close(ends[1]);
            ssize_t n = read(ends[0], &byte, 1); /* until the parent has looked */
            _exit((int)n);
        }
    }
    return sys_real.open_beneath(dir, path, flags, mode);
}

static void a_child_forked_meanwhile_does_not_keep_the_lock(void **state)
{
    (void)state;
    for (int read_by_another = 0; read_by_another < 2; read_by_another++) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        stand.sys.open_beneath = open_and_fork;
        child = 0;
        assert_int_equal(pipe(ends), 0);
        int other = read_by_another ? hold(F_RDLCK) : -1;
        (void)salvage_step(&stand.place);
        assert_true(child > 0);
        close(ends[0]);
        release(other);
        int fd = openat(stand.session, LAYOUT_LOCK, O_RDWR);
        assert_int_equal(fcntl(fd, F_OFD_GETLK, &lock), 0);
        assert_int_equal(lock.l_type, F_UNLCK);
        close(ends[1]);
        assert_int_equal(waitpid(child, NULL, 0), child);
        close(fd);
        (void)mkdirat(stand.session, LAYOUT_TMP_DIR, 0700);
    }
}

static void a_lock_for_reading_keeps_no_salvage_away(void **state)
{
    (void)state;
    int other = hold(F_RDLCK);
    assert_int_equal(salvage_step(&stand.place), SALVAGE_DONE);
    assert_int_equal(faccessat(stand.session, LAYOUT_SALVAGE_LOCK, F_OK, 0), -1);
    close(other);
}

static void a_writer_that_lives_keeps_a_salvage_away(void **state)
{
    (void)state;
    int writer = hold(F_WRLCK);
    assert_int_equal(salvage_step(&stand.place), SALVAGE_BUSY);
    close(writer);
}

static int open_and_salvage(int dir, const char *path, int flags, mode_t mode)
{
    if (strcmp(path, LAYOUT_TMP_DIR) == 0) {
        struct sys sys = sys_real;
        struct salvage_place place = stand.place;
        place.sys = &sys;
        place.readings = salvage_readings_new();
        stand.second = salvage_step(&place);
        salvage_readings_free(place.readings);
    }
    return sys_real.open_beneath(dir, path, flags, mode);
}

static void of_two_salvages_beside_a_lock_for_reading_one_waits(void **state)
{
    (void)state;
    int other = hold(F_RDLCK);
    stand.sys.open_beneath = open_and_salvage;
    assert_int_equal(salvage_step(&stand.place), SALVAGE_DONE);
    assert_int_equal(stand.second, SALVAGE_BUSY);
    close(other);
}

/* The first one began before another user locked the file. */
static void a_salvage_waits_for_one_that_locked_it_before_others_did(void **state)
{
    (void)state;
    stand.sys.open_beneath = open_and_salvage;
    assert_int_equal(salvage_step(&stand.place), SALVAGE_DONE);
    assert_int_equal(stand.second, SALVAGE_BUSY);
}

static int open_and_note_mode(int dir, const char *path, int flags, mode_t mode)
{
    struct stat st;
    int fd = sys_real.open_beneath(dir, path, flags, mode);
    if (fd >= 0 && strstr(path, ".part") && fstat(fd, &st) == 0) {
        stand.part = st.st_mode & 0777;
    }
    return fd;
}

static void nobody_else_can_open_what_is_compressed_before_it_is_locked(void **state)
{
    (void)state;
    struct stat st;
    char tmp[700];
    snprintf(tmp, sizeof tmp, "%s/" LAYOUT_TMP_DIR, stand.path);
    dirs_append(tmp, "device.1.log", "{\"x\":1}\n");
    assert_int_equal(fchmodat(stand.session, LAYOUT_TMP_DIR "/device.1.log", 0644, 0), 0);
    stand.sys.open_beneath = open_and_note_mode;
    enum salvage_result result = SALVAGE_STEP;
    for (int i = 0; i < 20 && result != SALVAGE_DONE; i++) {
        result = salvage_step(&stand.place);
    }
    assert_int_equal(result, SALVAGE_DONE);
    assert_int_equal(stand.part, 0600);
    assert_int_equal(fstatat(stand.session, "device.1.log.gz", &st, 0), 0);
    assert_int_equal(st.st_mode & 0777, 0644);
}

#define WITH_A_STAND(test)                                                               \
    cmocka_unit_test_setup_teardown(test, stand_set_up, stand_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_A_STAND(a_child_forked_meanwhile_does_not_keep_the_lock),
        WITH_A_STAND(a_lock_for_reading_keeps_no_salvage_away),
        WITH_A_STAND(a_writer_that_lives_keeps_a_salvage_away),
        WITH_A_STAND(of_two_salvages_beside_a_lock_for_reading_one_waits),
        WITH_A_STAND(a_salvage_waits_for_one_that_locked_it_before_others_did),
        WITH_A_STAND(nobody_else_can_open_what_is_compressed_before_it_is_locked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
