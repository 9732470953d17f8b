/* SPDX-License-Identifier: Apache-2.0 */
/* Where the journal of a root goes. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/dirs.h"
#include "upload/journal/state_dir.h"

/* What is opened, as a path below \p base; "" = none. */
static void open_state(const char *base, const char *wanted, bool create, char out[512],
                       char name[STATE_NAME_MAX])
{
    char root_path[512];
    char link[64];
    char why[512];
    struct state_place place;
    out[0] = '\0';
    snprintf(root_path, sizeof root_path, "%s/logs", base);
    int root = open(root_path, O_RDONLY | O_DIRECTORY);
    gpufl_status status = state_dir_open(wanted, root, root_path, create, &place, why);
    memcpy(name, place.name, STATE_NAME_MAX);
    assert_int_equal(status == GPUFL_OK, place.fd >= 0);
    if (place.fd >= 0) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", place.fd);
        ssize_t n = readlink(link, out, 511);
        assert_true(n > 0);
        out[n] = '\0';
        assert_int_equal(strncmp(out, base, strlen(base)), 0);
        memmove(out, out + strlen(base), strlen(out + strlen(base)) + 1);
        close(place.fd);
    } else {
        assert_true(strstr(why, root_path) && strstr(why, "state directory: "));
    }
    close(root);
}

static void the_first_place_that_is_ours_is_taken(void **state)
{
    (void)state;
    static const struct {
        const char *wanted, *systemd;
        mode_t root_mode;
        const char *xdg, *home;
        const char *dir; /* below the test's own */
        bool shared;     /* by several roots */
    } row[] = {
        {"/w/x", "/s", 0755, "/xdg", "/home", "/w/x", true},
        {NULL, "/s", 0755, "/xdg", "/home", "/s", true},
        {NULL, NULL, 0755, "/xdg", "/home", "/logs/.gpufl-agent", false},
        {NULL, NULL, 0777, "/xdg", "/home", "/xdg/gpufl", true},
        {NULL, NULL, 0775, NULL, "/home", "/home/.local/state/gpufl", true},
        {NULL, NULL, 0777, NULL, NULL, "", true},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        char *base = dirs_make();
        char path[512];
        char got[512];
        char name[STATE_NAME_MAX];
        const char *value[] = {row[i].wanted, row[i].systemd, row[i].xdg, row[i].home};
        static const char *const variable[] = {NULL, "STATE_DIRECTORY", "XDG_STATE_HOME",
                                               "HOME"};
        char full[4][512];
        for (size_t k = 0; k < 4; k++) {
            snprintf(full[k], sizeof full[k], "%s%s", base, value[k] ? value[k] : "");
            if (k && value[k]) {
                setenv(variable[k], full[k], 1);
            } else if (k) {
                unsetenv(variable[k]);
            }
        }
        snprintf(path, sizeof path, "%s/logs", base);
        assert_int_equal(mkdir(path, 0755), 0);
        assert_int_equal(chmod(path, row[i].root_mode), 0);
        open_state(base, row[i].wanted ? full[0] : NULL, true, got, name);
        assert_string_equal(got, row[i].dir);
        assert_int_equal(strcmp(name, "journal") != 0, row[i].shared);
        dirs_remove(base);
    }
}

static void a_directory_that_others_can_change_is_refused_with_the_reason(void **state)
{
    (void)state;
    static const struct {
        mode_t mode;
        uid_t owner;
        bool write; /* taken to write in */
        bool read;
        const char *why;
    } row[] = {
        {0700, 0, true, true, ""},
        {0755, 0, true, true, ""},
        {02750, 0, true, true, ""},
        {0777, 0, false, false, "its mode is 0777 (run chmod go-w"},
        {01777, 0, false, false, "its mode is 1777"},
        {02770, 0, false, false, "its mode is 2770"},
        {0702, 0, false, false, "its mode is 0702"},
        {0700, 12345, false, true, "it belongs to user 12345, not to user 0"},
        {0777, 12345, false, false, "it belongs to user 12345"},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        char *base = dirs_make();
        char path[512];
        struct state_place place;
        char why[512] = "";
        char logs[512];
        snprintf(logs, sizeof logs, "%s/logs", base);
        snprintf(path, sizeof path, "%s/state", base);
        assert_int_equal(mkdir(logs, 0700), 0);
        assert_int_equal(mkdir(path, 0700), 0);
        assert_int_equal(chmod(path, row[i].mode), 0);
        int root = open(logs, O_RDONLY | O_DIRECTORY);
        if (row[i].owner == 0 || chown(path, row[i].owner, 0) == 0) {
            bool write = state_dir_open(path, root, logs, true, &place, why) == GPUFL_OK;
            if (write != row[i].write || !strstr(why, row[i].why)) {
                fail_msg("%04o of %u: %s", row[i].mode, row[i].owner, why);
            }
            close(place.fd);
            assert_int_equal(state_dir_open(path, root, logs, false, &place, why) ==
                                 GPUFL_OK,
                             row[i].read);
            close(place.fd);
        }
        close(root);
        dirs_remove(base);
    }
}

/* A state directory there would look like a session, or a group of them. */
static void a_directory_in_the_log_directory_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *below;
        bool taken;
    } row[] = {{"", false},         {"/", false},       {"/state", false},
               {"/a/b/c", false},   {"/link/x", false}, {"/.gpufl-agent", true},
               {"/.state/a", true}, {"-state", true},   {"/../state", true}};
    char *base = dirs_make();
    char logs[512];
    char path[600];
    snprintf(logs, sizeof logs, "%s/logs", base);
    assert_int_equal(mkdir(logs, 0700), 0);
    snprintf(path, sizeof path, "%s/link", logs);
    assert_int_equal(symlink(".", path), 0);
    int root = open(logs, O_RDONLY | O_DIRECTORY);
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct state_place place;
        char why[512] = "";
        snprintf(path, sizeof path, "%s%s", logs, row[i].below);
        bool taken = state_dir_open(path, root, logs, STATE_TRY, &place, why) == GPUFL_OK;
        if (taken != row[i].taken ||
            (!taken && !strstr(why, "it lies in the log directory"))) {
            fail_msg("%s: %s", row[i].below, why);
        }
        if (taken) {
            close(place.fd);
        }
    }
    close(root);
    dirs_remove(base);
}

/* As of a unit with several names in StateDirectory=. */
static void a_list_of_directories_is_refused(void **state)
{
    (void)state;
    char *base = dirs_make();
    char path[512];
    char list[1200];
    char why[512];
    struct state_place place;
    snprintf(path, sizeof path, "%s/state", base);
    snprintf(list, sizeof list, "%s/a:%s/b", base, base);
    setenv("STATE_DIRECTORY", list, 1);
    int root = open(base, O_RDONLY | O_DIRECTORY);
    for (enum state_use use = STATE_READ; use <= STATE_TRY; use++) {
        assert_int_equal(state_dir_open(NULL, root, "/logs", use, &place, why),
                         GPUFL_ERR_IO);
        assert_int_equal(place.fd, -1);
        assert_non_null(strstr(why, "STATE_DIRECTORY: '"));
        assert_non_null(strstr(why, "it names several directories"));
    }
    assert_int_equal(state_dir_open(path, root, "/logs", STATE_MAKE, &place, why),
                     GPUFL_OK); /* the option comes first */
    close(place.fd);
    unsetenv("STATE_DIRECTORY");
    close(root);
    dirs_remove(base);
}

static void reading_makes_no_directory(void **state)
{
    (void)state;
    char *base = dirs_make();
    char path[512];
    char got[512];
    char name[STATE_NAME_MAX];
    unsetenv("STATE_DIRECTORY");
    unsetenv("XDG_STATE_HOME");
    setenv("HOME", base, 1);
    snprintf(path, sizeof path, "%s/logs", base);
    assert_int_equal(mkdir(path, 0755), 0);
    open_state(base, NULL, false, got, name);
    assert_string_equal(got, "");
    assert_int_equal(rmdir(path), 0); /* still empty */
    dirs_remove(base);
}

#define THEIR_UID 12345
#define NOBODY    54321 /* without an account */

/* Two names of a place for state in the home of another user; what is opened for \p user,
 * and whether anything was made there. */
struct their_home {
    uid_t owner;
    mode_t mode;
    const char *variable, *below;
};

static gpufl_status open_beneath_their_home(const struct their_home *their, uid_t user,
                                            enum state_use use, char path[STATE_PATH_MAX],
                                            char why[512])
{
    char *base = dirs_make();
    char home[400];
    char logs[400];
    char named[512];
    struct state_place place;
    unsetenv("STATE_DIRECTORY");
    unsetenv("XDG_STATE_HOME");
    unsetenv("HOME");
    snprintf(logs, sizeof logs, "%s/logs", base);
    snprintf(home, sizeof home, "%s/home", base);
    snprintf(named, sizeof named, "%s%s", home, their->below);
    setenv(their->variable, named, 1);
    assert_int_equal(chmod(base, 0755), 0);
    assert_int_equal(mkdir(logs, 0777) + chmod(logs, 0777), 0);
    assert_int_equal(mkdir(home, 0777) + chmod(home, their->mode), 0);
    assert_int_equal(chown(home, their->owner, their->owner), 0);
    int root = open(logs, O_RDONLY | O_DIRECTORY);
    assert_int_equal(seteuid(user), 0);
    gpufl_status status = state_dir_open(NULL, root, logs, use, &place, why);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(status == GPUFL_OK, place.fd >= 0);
    snprintf(path, STATE_PATH_MAX, "%s", place.fd >= 0 ? place.path : "");
    close(place.fd);
    close(root);
    assert_int_equal(rmdir(home), 0); /* still empty */
    dirs_remove(base);
    return status;
}

/* As by sudo or su -m, which leave HOME as it is: what is made there is in that user's
 * way. The account's own home is taken, if there is one. */
static void nothing_is_made_in_the_home_of_another_user(void **state)
{
    (void)state;
    static const struct their_home row[] = {
        {THEIR_UID, 0777, "HOME", ""},
        {THEIR_UID, 0777, "XDG_STATE_HOME", ""},
        {THEIR_UID, 0777, "XDG_STATE_HOME", "/.local/state"},
    };
    if (geteuid() != 0) {
        skip(); /* several users */
    }
    const struct passwd *account = getpwuid(0);
    char own[400];
    snprintf(own, sizeof own, "%s/.local/state/gpufl/", account ? account->pw_dir : "");
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        char path[STATE_PATH_MAX];
        char why[512];
        gpufl_status status =
            open_beneath_their_home(&row[i], NOBODY, STATE_MAKE, path, why);
        assert_int_equal(status, GPUFL_ERR_IO);
        assert_non_null(strstr(why,
                               "it lies in a directory of user 12345, and user 54321 "
                               "has no home"));
        if (account) {
            status = open_beneath_their_home(&row[i], 0, STATE_TRY, path, why);
            assert_int_equal(status, GPUFL_OK);
            assert_memory_equal(path, own, strlen(own));
        }
    }
}

/* As where a container's -u leaves it: there is nothing of ours, seen or not. */
static void the_home_of_root_is_not_ours(void **state)
{
    (void)state;
    static const struct their_home row[] = {
        {0, 0700, "HOME", ""},
        {0, 0755, "HOME", ""},
        {0, 0700, "XDG_STATE_HOME", "/.local/state"},
    };
    if (geteuid() != 0) {
        skip(); /* several users */
    }
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        char path[STATE_PATH_MAX];
        char why[512];
        assert_int_equal(open_beneath_their_home(&row[i], NOBODY, STATE_READ, path, why),
                         GPUFL_ERR_NOT_FOUND);
        assert_int_equal(open_beneath_their_home(&row[i], NOBODY, STATE_MAKE, path, why),
                         GPUFL_ERR_IO);
        state_dir_way_out("--state-dir", why);
        assert_non_null(strstr(why, "it lies in a directory of user 0, and user 54321 "
                                    "has no home (the journal of "));
        assert_non_null(strstr(why, "only its user can write to: name one by "
                                    "--state-dir)"));
    }
}

/* It may hold a journal: none is begun elsewhere. */
static void a_directory_that_cannot_be_opened_now_is_not_replaced(void **state)
{
    (void)state;
    char *base = dirs_make();
    char path[512];
    char why[512];
    struct state_place place;
    struct rlimit before;
    unsetenv("STATE_DIRECTORY");
    unsetenv("XDG_STATE_HOME");
    snprintf(path, sizeof path, "%s/home", base);
    setenv("HOME", path, 1);
    snprintf(path, sizeof path, "%s/logs", base);
    assert_int_equal(mkdir(path, 0755), 0);
    int root = open(path, O_RDONLY | O_DIRECTORY);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    gpufl_status status = state_dir_open(NULL, root, path, STATE_MAKE, &place, why);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(status, GPUFL_ERR_IO);
    assert_int_equal(place.fd, -1);
    assert_non_null(strstr(why, "/logs/.gpufl-agent': Too many open files"));
    close(root);
    snprintf(path, sizeof path, "%s/home", base);
    assert_int_equal(access(path, F_OK), -1);
    dirs_remove(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_place_that_is_ours_is_taken),
        cmocka_unit_test(a_directory_that_others_can_change_is_refused_with_the_reason),
        cmocka_unit_test(a_directory_in_the_log_directory_is_refused),
        cmocka_unit_test(a_list_of_directories_is_refused),
        cmocka_unit_test(reading_makes_no_directory),
        cmocka_unit_test(nothing_is_made_in_the_home_of_another_user),
        cmocka_unit_test(the_home_of_root_is_not_ours),
        cmocka_unit_test(a_directory_that_cannot_be_opened_now_is_not_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
