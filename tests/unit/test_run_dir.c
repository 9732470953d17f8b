/* SPDX-License-Identifier: Apache-2.0 */
/* What a service tells the programs of other users. */
#include "tests/support/check.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/dirs.h"
#include "upload/published/progress_file.h"
#include "upload/published/run_dir.h"

#define ANOTHER_USER 12345
#define SERVICE_USER 12346
#define TOLD                                                                             \
    "gpufl-progress 1 pid=1 program=gpufl-agent\n"                                       \
    "11111111-1111-4111-8111-111111111111 device 2 10 1 1\n"

static char *run_dir_make(int *root, char **logs)
{
    char *path = dirs_make();
    *logs = dirs_make();
    *root = open(*logs, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(setenv("GPUFL_RUNTIME_DIRECTORY", path, 1), 0);
    return path;
}

static void run_dir_remove(char *path, int root, char *logs)
{
    unsetenv("GPUFL_RUNTIME_DIRECTORY");
    close(root);
    dirs_remove(path);
    dirs_remove(logs);
}

/* In a child, by a signal: at another end, valgrind would report what its parent holds.
 */
static void run_dir_child_ends(bool as_expected)
{
    if (as_expected) {
        raise(SIGKILL);
    }
    _exit(1);
}

static bool run_dir_child_ended(pid_t child)
{
    int status;
    return waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
           WTERMSIG(status) == SIGKILL;
}

static void run_dir_note(void *arg, const struct progress_line *line)
{
    *(uint64_t *)arg += line->offset;
}

static void what_a_service_publishes_is_readable_whatever_its_umask(void **state)
{
    (void)state;
    char *logs;
    int root;
    char *path = run_dir_make(&root, &logs);
    mode_t mask = umask(077);
    uint64_t settled = 0;
    assert_false(run_dir_is_served(root));
    struct run_dir *run = run_dir_publish(&sys_real, path, root);
    assert_non_null(run);
    assert_true(run_dir_is_served(root));
    assert_true(run_dir_write(run, "progress", TOLD, strlen(TOLD)));
    assert_int_equal(chmod(path, 0755), 0);
    pid_t child = geteuid() == 0 ? fork() : -1;
    if (child == 0) {
        char *text;
        size_t len;
        run_dir_child_ends(setuid(ANOTHER_USER) == 0 && run_dir_is_served(root) &&
                           file_read_fd(&sys_real,
                                        run_dir_open(&sys_real, root, "progress"), 4096,
                                        &text, &len) == GPUFL_OK &&
                           strcmp(text, TOLD) == 0);
    }
    assert_true(child < 0 || run_dir_child_ended(child));
    assert_int_equal(progress_read(&sys_real, root, NULL, run_dir_note, &settled),
                     GPUFL_OK);
    assert_int_equal(settled, 10);
    run_dir_close(run);
    assert_false(run_dir_is_served(root));
    assert_int_equal(progress_read(&sys_real, root, NULL, run_dir_note, &settled),
                     GPUFL_ERR_NOT_FOUND);
    umask(mask);
    run_dir_remove(path, root, logs);
}

/* A file that is not locked is left by a service that was killed. */
static void what_a_dead_service_left_is_not_believed(void **state)
{
    (void)state;
    char *logs;
    int root;
    char *path = run_dir_make(&root, &logs);
    pid_t child = fork();
    if (child == 0) {
        struct run_dir *run = run_dir_publish(&sys_real, path, root);
        run_dir_child_ends(run && run_dir_is_served(root));
    }
    assert_true(run_dir_child_ended(child));
    assert_false(run_dir_is_served(root));
    struct run_dir *next = run_dir_publish(&sys_real, path, root);
    assert_true(run_dir_is_served(root));
    run_dir_close(next);
    run_dir_remove(path, root, logs);
}

/* The only file there that tells of a lock. */
static void run_dir_lock_file(const char *path, char out[512])
{
    char pattern[500];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/*.lock", path);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    snprintf(out, 512, "%s", found.gl_pathv[0]);
    globfree(&found);
}

/* In a child, as \p user: whether a reader can lock it. */
static bool run_dir_can_be_locked(const char *path, uid_t user)
{
    char file[512];
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    run_dir_lock_file(path, file);
    pid_t child = fork();
    if (child == 0) {
        int fd = setuid(user) == 0 ? open(file, O_RDONLY | O_CLOEXEC) : -1;
        _exit(fd < 0 || fcntl(fd, F_OFD_SETLK, &lock) == 0 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status == 0;
}

static void others_cannot_lock_what_says_that_a_root_is_served(void **state)
{
    (void)state;
    char *logs;
    int root;
    if (geteuid() != 0) {
        skip();
    }
    char *path = run_dir_make(&root, &logs);
    struct run_dir *run = run_dir_publish(&sys_real, path, root);
    assert_int_equal(chmod(path, 0755), 0);
    assert_false(run_dir_can_be_locked(path, ANOTHER_USER));
    assert_true(run_dir_is_served(root));
    run_dir_close(run);
    run_dir_remove(path, root, logs);
}

/* Anybody could say so where anybody can make the directory. */
static void a_directory_that_another_user_may_have_made_is_not_believed(void **state)
{
    (void)state;
    static const struct {
        uid_t owner;
        mode_t mode;
        uid_t owner_above;
        mode_t mode_above;
        bool served;
    } row[] = {
        {SERVICE_USER, 0755, 0, 0755, true},
        {SERVICE_USER, 0755, 0, 01777, false},
        {SERVICE_USER, 0755, SERVICE_USER, 0755, false},
        {SERVICE_USER, 0775, 0, 0755, false},
        {0, 0755, 0, 01777, true},
        {0, 01777, 0, 0755, false},
    };
    if (geteuid() != 0) {
        skip();
    }
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        char *logs;
        int root;
        char *above = run_dir_make(&root, &logs);
        char path[480];
        char file[512];
        snprintf(path, sizeof path, "%.400s/gpufl-agent", above);
        assert_int_equal(mkdir(path, 0700), 0);
        setenv("GPUFL_RUNTIME_DIRECTORY", path, 1);
        struct run_dir *run = run_dir_publish(&sys_real, path, root);
        run_dir_lock_file(path, file);
        assert_int_equal(chown(file, row[i].owner, 0), 0);
        assert_int_equal(chown(path, row[i].owner, 0), 0);
        assert_int_equal(chmod(path, row[i].mode), 0);
        assert_int_equal(chown(above, row[i].owner_above, 0), 0);
        assert_int_equal(chmod(above, row[i].mode_above), 0);
        if (run_dir_is_served(root) != row[i].served) {
            fail_msg("row %zu", i);
        }
        run_dir_close(run);
        run_dir_remove(above, root, logs);
    }
}

/* Where it leads depends on the directory in which the service runs: readers would look
 * in another one. */
static void nothing_is_published_in_a_directory_that_is_not_absolute(void **state)
{
    (void)state;
    char *logs;
    int root;
    char *path = run_dir_make(&root, &logs);
    assert_int_equal(chdir(path), 0);
    assert_null(run_dir_publish(&sys_real, ".", root));
    assert_int_equal(errno, EINVAL);
    assert_int_equal(chdir("/"), 0);
    run_dir_remove(path, root, logs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_service_publishes_is_readable_whatever_its_umask),
        cmocka_unit_test(what_a_dead_service_left_is_not_believed),
        cmocka_unit_test(others_cannot_lock_what_says_that_a_root_is_served),
        cmocka_unit_test(a_directory_that_another_user_may_have_made_is_not_believed),
        cmocka_unit_test(nothing_is_published_in_a_directory_that_is_not_absolute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
