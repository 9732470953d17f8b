/* SPDX-License-Identifier: Apache-2.0 */
/* What is noticed of directories that are renamed, by real inotify. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/watch/watch.h"
#include "agent/watch/watch_rate.h"
#include "agent/watch/watch_wake.h"
#include "tests/support/dirs.h"

#define HANG_MS   60000
#define HINTS_MAX 1000u
#define WATCHES   16u
#define OF_ONE    9u /* of them, if the others have none */
#define OF_GROUPS 5u /* likewise, if they are groups */
#define MANY      30u
#define OTHER     12345u
#define HANG_S    (HANG_MS / 1000)

/* A root that is watched. The engine's part, which asks for what is named, is the test's.
 */
struct watched {
    struct log log;
    struct watch *watch;
    char *root;
    int news[2];                       /* a pipe */
    struct watch_hint hint[HINTS_MAX]; /* not looked for yet */
    size_t hints;
};

static void wake(void *arg)
{
    const struct watched *t = arg;
    (void)!write(t->news[1], "", 1);
}

/* Takes what there is, waiting if it is nothing yet. */
static void take(struct watched *t)
{
    const struct watch_hint *hint;
    size_t n = watch_take(t->watch, &hint);
    if (n == 0) {
        char byte;
        struct pollfd news = {.fd = t->news[0], .events = POLLIN};
        assert_int_equal(poll(&news, 1, HANG_MS), 1);
        assert_int_equal(read(t->news[0], &byte, 1), 1);
    }
    assert_true(t->hints + n <= HINTS_MAX);
    for (; n > 0; n--) {
        t->hint[t->hints++] = *hint++;
    }
}

/* \return whether there was one, which is forgotten. */
static bool was(struct watched *t, const char *session, enum watch_what what)
{
    for (size_t i = 0; i < t->hints; i++) {
        if (strcmp(t->hint[i].session, session) == 0 && t->hint[i].what == what) {
            t->hint[i] = t->hint[--t->hints];
            return true;
        }
    }
    return false;
}

static void await(struct watched *t, const char *session, enum watch_what what)
{
    while (!was(t, session, what)) {
        take(t);
    }
}

static void make(const struct watched *t, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", t->root, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

static void move(const struct watched *t, const char *from, const char *to)
{
    char old[512];
    char new[512];
    snprintf(old, sizeof old, "%s/%s", t->root, from);
    snprintf(new, sizeof new, "%s/%s", t->root, to);
    assert_int_equal(rename(old, new), 0);
}

/* Writes into a session until the watch of its directory tells of it. */
static void is_noticed(struct watched *t, const char *session)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s/device.log", t->root, session);
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    while (!was(t, session, HINT_GREW)) { /* what else was noticed may cover it */
        assert_int_equal(write(fd, "x", 1), 1);
        take(t);
    }
    close(fd);
}

static void ask(struct watched *t, const char *session)
{
    watch_request(t->watch, 0, t->root, session, ASK_WATCH);
    await(t, session, HINT_CHANGED);
}

static void a_name_that_was_renamed_is_watched_again_in_its_new_place(void **state)
{
    struct watched *t = *state;
    make(t, "a");
    await(t, "a", HINT_CHANGED);
    is_noticed(t, "a");
    move(t, "a", "b");
    await(t, "b", HINT_CHANGED);
    make(t, "a");
    await(t, "a", HINT_CHANGED);
    is_noticed(t, "a");
    is_noticed(t, "b");
}

static void a_directory_that_is_made_anew_is_watched(void **state)
{
    struct watched *t = *state;
    char path[512];
    for (int i = 0; i < 3; i++) {
        make(t, "a");
        await(t, "a", HINT_CHANGED);
        is_noticed(t, "a");
        snprintf(path, sizeof path, "%s/a/device.log", t->root);
        assert_int_equal(unlink(path), 0);
        snprintf(path, sizeof path, "%s/a", t->root);
        assert_int_equal(rmdir(path), 0);
        await(t, "a", HINT_UNWATCHED);
        t->hints = 0;
    }
}

static void a_file_that_is_removed_is_noticed(void **state)
{
    struct watched *t = *state;
    char path[512];
    make(t, "a");
    await(t, "a", HINT_CHANGED);
    snprintf(path, sizeof path, "%s/a/device.log", t->root);
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    while (!was(t, "a", HINT_GREW)) { /* that it was made is noticed before */
        assert_int_equal(write(fd, "x", 1), 1);
        take(t);
    }
    t->hints = 0;
    assert_int_equal(unlink(path), 0);
    await(t, "a", HINT_CHANGED);
    close(fd);
}

static void names_that_change_places_are_watched_again(void **state)
{
    struct watched *t = *state;
    make(t, "a");
    make(t, "b");
    await(t, "b", HINT_CHANGED);
    move(t, "a", "c");
    move(t, "b", "a");
    move(t, "c", "b");
    await(t, "b", HINT_UNWATCHED);
    is_noticed(t, "a");
    is_noticed(t, "b");
}

static void sessions_in_a_renamed_group_are_watched_by_their_new_names(void **state)
{
    struct watched *t = *state;
    make(t, "g");
    make(t, "g/s");
    await(t, "g", HINT_CHANGED);
    ask(t, "g/s");
    is_noticed(t, "g/s");
    move(t, "g", "h");
    await(t, "g/s", HINT_UNWATCHED);
    ask(t, "h/s");
    make(t, "g");
    make(t, "g/s");
    ask(t, "g/s");
    is_noticed(t, "g/s");
    is_noticed(t, "h/s");
}

/* \return how many of the directories told that. */
static unsigned told(struct watched *t, enum watch_told what)
{
    unsigned count = 0;
    for (size_t i = 0; i < t->hints; i++) {
        count += t->hint[i].told == what;
    }
    return count;
}

static void one_owner_has_a_share_of_the_watches(void **state)
{
    struct watched *t = *state;
    char path[512];
    char name[20];
    if (geteuid() != 0) {
        skip(); /* several owners */
    }
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "n%u", i);
        make(t, name);
    }
    while (told(t, TOLD_WATCHED) + told(t, TOLD_REFUSED) < MANY) {
        take(t);
    }
    assert_int_equal(told(t, TOLD_WATCHED), OF_ONE);
    t->hints = 0;
    make(t, ".v"); /* a name that is not looked at */
    snprintf(path, sizeof path, "%s/.v", t->root);
    assert_int_equal(chown(path, OTHER, OTHER), 0);
    move(t, ".v", "v");
    await(t, "v", HINT_CHANGED);
    is_noticed(t, "v");
    for (unsigned i = 0; i < 2; i++) { /* one for the other's watch */
        snprintf(name, sizeof name, "n%u", i);
        snprintf(path, sizeof path, "%s/%s", t->root, name);
        assert_int_equal(rmdir(path), 0);
        await(t, name, HINT_UNWATCHED);
    }
    snprintf(name, sizeof name, "n%u", MANY - 1);
    ask(t, name); /* now there is room for it */
    is_noticed(t, name);
}

static void ask_group(struct watched *t, const char *group)
{
    watch_request(t->watch, 0, t->root, group, ASK_WATCH_GROUP);
}

/* So that nobody has to list what else is in it. */
static void what_is_made_in_a_group_is_told_by_its_name(void **state)
{
    struct watched *t = *state;
    make(t, "g"); /* watched as one that is new in the root, first */
    await(t, "g", HINT_CHANGED);
    ask_group(t, "g");
    make(t, "g/h");
    ask(t, "g/h"); /* served after that, or told by it; of a name in the root, the root
                      tells */
    make(t, "g/s");
    await(t, "g/s", HINT_CHANGED);
    is_noticed(t, "g/s");
    make(t, "g/.s");
    move(t, "g/.s", "g/r");
    await(t, "g/r", HINT_CHANGED);
    is_noticed(t, "g/r");
    make(t, ".k"); /* a name that is not looked at */
    move(t, ".k", "g/.k");
    ask_group(t, "g/.k"); /* not watched before */
    await(t, "g/.k", HINT_CHANGED);
}

static void groups_leave_as_many_watches_to_the_sessions_of_their_owner(void **state)
{
    struct watched *t = *state;
    char name[20];
    unsigned watched = 0;
    make(t, "g");
    await(t, "g", HINT_CHANGED);
    for (unsigned i = 0; i < MANY; i++) { /* not in the root, which tells of them */
        snprintf(name, sizeof name, "g/n%u", i);
        make(t, name);
        ask_group(t, name);
    }
    make(t, "g/s");
    ask(t, "g/s"); /* all of them were asked for before */
    is_noticed(t, "g/s");
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "g/n%u", i);
        watched += was(t, name, HINT_CHANGED);
    }
    assert_int_equal(1 + watched, OF_GROUPS);
}

/* Its path names another directory then, or none: that is not for the next listing. */
static void a_root_that_is_renamed_is_told(void **state)
{
    struct watched *t = *state;
    char to[512];
    snprintf(to, sizeof to, "%s.renamed", t->root);
    make(t, "s");
    await(t, "s", HINT_CHANGED);
    t->hints = 0;
    assert_int_equal(rename(t->root, to), 0);
    await(t, "", HINT_CHANGED);
    assert_int_equal(rename(to, t->root), 0);
}

/* Else a root that is not watched again would keep the loop going. */
static void assert_not_hung(uint64_t began_ms)
{
    assert_true(watch_rate_now_ms() - began_ms < HANG_MS);
}

/* Renames an entry that is not looked at, so that only the root's events are many. */
static void a_root_in_which_very_much_happens_is_watched_again(void **state)
{
    struct watched *t = *state;
    make(t, ".a");
    make(t, "s");
    await(t, "s", HINT_CHANGED);
    t->hints = 0;
    uint64_t began_ms = watch_rate_now_ms();
    do { /* an event of the root itself: it was watched again, and is to be listed */
        const struct watch_hint *hint;
        for (unsigned i = 0; i < 1000; i++) {
            move(t, ".a", ".b");
            move(t, ".b", ".a");
        }
        size_t n = watch_take(t->watch, &hint);
        for (size_t i = 0; i < n && t->hints < HINTS_MAX; i++) {
            t->hint[t->hints++] = hint[i];
        }
        assert_not_hung(began_ms);
    } while (!was(t, "", HINT_CHANGED));
    move(t, "s", "r"); /* whether or not the root tells it */
    await(t, "s", HINT_UNWATCHED);
    make(t, "s2");
    while (!was(t, "s2", HINT_CHANGED) && !was(t, "", HINT_CHANGED)) {
        take(t); /* or fails */
    }
}

static void one_directory_without_rights_leaves_the_others_watched(void **state)
{
    struct watched *t = *state;
    char path[512];
    uid_t was_user = geteuid();
    if (was_user == 0) {
        assert_int_equal(chmod(t->root, 0777), 0);
        assert_int_equal(seteuid(OTHER), 0);
    }
    make(t, ".x");
    snprintf(path, sizeof path, "%s/.x", t->root);
    assert_int_equal(chmod(path, 0), 0);
    move(t, ".x", "x");
    while (told(t, TOLD_REFUSED) == 0) {
        take(t);
    }
    assert_false(watch_incomplete(t->watch));
    make(t, "s");
    await(t, "s", HINT_CHANGED);
    is_noticed(t, "s");
    snprintf(path, sizeof path, "%s/x", t->root);
    assert_int_equal(chmod(path, 0700), 0);
    assert_int_equal(seteuid(was_user), 0);
}

static void a_wait_for_events_ends_when_it_is_to_end(void **state)
{
    (void)state;
    struct watch_wake waits;
    int inotify = inotify_init1(IN_CLOEXEC);
    assert_true(watch_wake_open(&waits, inotify));
    watch_wake_up(&waits);
    assert_int_equal(watch_wake_wait(&waits, HANG_S), 0);
    watch_wake_close(&waits);
    assert_true(watch_wake_open(&waits, inotify));
    assert_true(inotify_add_watch(inotify, "/", IN_OPEN) >= 0);
    close(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    assert_int_equal(watch_wake_wait(&waits, HANG_S), 0);
    watch_wake_close(&waits);
    close(inotify);
    assert_true(watch_wake_open(&waits, inotify));
    assert_int_equal(watch_wake_wait(&waits, HANG_S), HANG_S); /* the library waits */
    watch_wake_close(&waits);
}

static int begin(void **state)
{
    struct watched *t = calloc(1, sizeof *t);
    assert_non_null(t);
    t->root = dirs_make();
    assert_int_equal(pipe(t->news), 0);
    assert_true(watch_init());
    assert_int_equal(watch_open(&t->log, 0, WATCHES, wake, t, &t->watch), GPUFL_OK);
    watch_request(t->watch, 0, t->root, "", ASK_WATCH);
    await(t, "", HINT_CHANGED);
    *state = t;
    return 0;
}

static int end(void **state)
{
    struct watched *t = *state;
    watch_close(t->watch);
    close(t->news[0]);
    close(t->news[1]);
    dirs_remove(t->root);
    free(t);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_for_events_ends_when_it_is_to_end),
        cmocka_unit_test_setup_teardown(one_owner_has_a_share_of_the_watches, begin, end),
        cmocka_unit_test_setup_teardown(
            a_name_that_was_renamed_is_watched_again_in_its_new_place, begin, end),
        cmocka_unit_test_setup_teardown(a_directory_that_is_made_anew_is_watched, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_file_that_is_removed_is_noticed, begin, end),
        cmocka_unit_test_setup_teardown(names_that_change_places_are_watched_again, begin,
                                        end),
        cmocka_unit_test_setup_teardown(
            sessions_in_a_renamed_group_are_watched_by_their_new_names, begin, end),
        cmocka_unit_test_setup_teardown(what_is_made_in_a_group_is_told_by_its_name,
                                        begin, end),
        cmocka_unit_test_setup_teardown(
            groups_leave_as_many_watches_to_the_sessions_of_their_owner, begin, end),
        cmocka_unit_test_setup_teardown(a_root_that_is_renamed_is_told, begin, end),
        cmocka_unit_test_setup_teardown(
            a_root_in_which_very_much_happens_is_watched_again, begin, end),
        cmocka_unit_test_setup_teardown(
            one_directory_without_rights_leaves_the_others_watched, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
