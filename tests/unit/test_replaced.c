/* SPDX-License-Identifier: Apache-2.0 */
/* Directories that take the place of one of which something was sent. */
#include "tests/support/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/ended_sessions.h"
#include "tests/support/rig_backend.h"
#include "tests/support/rig_session.h"
#include "upload/journal/record_payload.h"
#include "upload/source/directory_mark.h"

#define ANOTHER_USER 12345

/* `mv` and `cp -a` as a person uses them, in the root. */
static void replaced_run(const struct rig *rig, const char *script)
{
    char command[2048];
    snprintf(command, sizeof command, "cd '%s' && ID=" RIG_ID " && %s", rig->root,
             script);
    assert_int_equal(system(command), 0);
}

static void replaced_begin(struct rig *rig, struct live_session *s)
{
    live_open(s, rig->root, RIG_ID);
    rig_fill(s, 3);
    rig_start(rig);
    rig_run(rig, 5000, false);
}

/* Where its writer goes on. */
static void replaced_is_at(const struct rig *rig, struct live_session *s,
                           const char *path)
{
    snprintf(s->dir, sizeof s->dir, "%s/%s", rig->root, path);
}

static void replaced_plant(const struct rig *rig)
{
    replaced_run(
        rig, "mkdir $ID && echo '{\"type\":\"job_start\",\"session_id\":\"'$ID'\"}' > "
             "$ID/sass.log && echo '{\"type\":\"shutdown\",\"session_id\":\"'$ID'\"}' "
             ">> $ID/sass.log && chown -R 12345 $ID");
}

static void replaced_nothing_was_forged(struct rig *rig)
{
    char *sass = rig_stored(rig, RIG_ID, "sass");
    assert_string_equal(sass, "");
    free(sass);
}

static void replaced_maybe_restart(struct rig *rig, int restart)
{
    if (restart) {
        rig_stop(rig);
        rig_start(rig);
    }
}

/* Whether it was complete or not, and whether or not anybody looked meanwhile. */
static void a_directory_of_another_user_is_not_read_in_the_place_of_one(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    for (int how = 0; how < 8; how++) {
        struct rig *rig = rig_new();
        struct live_session s;
        bool complete = how & 1;
        replaced_begin(rig, &s);
        if (complete) {
            live_close(&s);
            rig_run(rig, 30000, false);
        }
        replaced_run(rig, "mv $ID .kept");
        if (how & 2) {
            rig_run(rig, 90000, false);
        }
        replaced_plant(rig);
        replaced_maybe_restart(rig, how & 4);
        rig_run(rig, 180000, false);
        replaced_nothing_was_forged(rig);
        assert_int_equal(rig_summary(rig).sessions_blocked, 1);
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), complete);
        replaced_run(rig, "rm -r $ID && mv .kept $ID");
        if (!complete) {
            live_close(&s);
        }
        rig_run(rig, 180000, false);
        rig_all_same(rig, RIG_ID);
        assert_int_equal(rig_summary(rig).sessions_blocked, 0);
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
        rig_delete(rig);
    }
}

/* Another user who exchanges what is at the path of the session for what is at `.f`. */
static struct {
    const struct rig *rig;
    bool at_random; /* before an open; else there is a directory at each open and listing,
                       and a file at each other look */
    bool file;      /* is there now */
    uint32_t random;
} replaced_swap;

static void replaced_exchange(void)
{
    char at[512];
    char other[512];
    snprintf(at, sizeof at, "%s/" RIG_ID, replaced_swap.rig->root);
    snprintf(other, sizeof other, "%s/.f", replaced_swap.rig->root);
    assert_int_equal(renameat2(AT_FDCWD, at, AT_FDCWD, other, RENAME_EXCHANGE), 0);
    replaced_swap.file = !replaced_swap.file;
}

static bool replaced_swaps_before(bool at_it, bool listing)
{
    replaced_swap.random = replaced_swap.random * 1664525u + 1013904223u;
    return replaced_swap.at_random ? at_it && replaced_swap.random >> 31
                                   : (at_it || listing) && replaced_swap.file;
}

static int replaced_open(int dir, const char *path, int flags, mode_t mode)
{
    bool at_it = replaced_swap.rig && strncmp(path, RIG_ID, strlen(RIG_ID)) == 0;
    bool listing = replaced_swap.rig && strcmp(path, ".") == 0;
    if (replaced_swaps_before(at_it, listing)) {
        replaced_exchange();
    }
    int fd = sys_real.open_beneath(dir, path, flags, mode);
    int error = errno;
    if (at_it && !replaced_swap.at_random) {
        replaced_exchange();
    }
    errno = error;
    return fd;
}

/* A copy of what was sent, with more lines. */
static void replaced_forge(const struct rig *rig)
{
    replaced_run(rig, "cp -r $ID .forged && for c in device sass; do echo "
                      "'{\"type\":\"x\",\"session_id\":\"'$ID'\",\"forged\":1}' >> "
                      ".forged/$c.log; done && chown -R 12345 .forged");
}

static void replaced_is_not_forged(struct rig *rig, bool complete)
{
    static const char *const channel[] = {"device", "sass"};
    for (int i = 0; i < 2; i++) {
        char *got = rig_stored(rig, RIG_ID, channel[i]);
        assert_null(strstr(got, "forged"));
        free(got);
    }
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), complete);
}

static struct sys replaced_watch_opens(struct rig *rig)
{
    struct sys sys = *rig->config.sys;
    sys.open_beneath = replaced_open;
    replaced_swap.rig = NULL;
    return sys;
}

static void what_is_compared_is_what_is_read_and_noted(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    for (int complete = 0; complete < 2; complete++) {
        struct rig *rig = rig_new();
        struct live_session s;
        struct sys sys = replaced_watch_opens(rig);
        rig->config.sys = &sys;
        replaced_begin(rig, &s);
        if (complete) {
            live_close(&s);
            rig_run(rig, 30000, false);
        }
        replaced_forge(rig);
        replaced_run(rig, "mv $ID .kept && mv .forged .f && touch $ID");
        replaced_swap.rig = rig;
        replaced_swap.at_random = false;
        replaced_swap.file = true;
        rig_run(rig, 180000, false);
        replaced_is_not_forged(rig, complete);
        replaced_swap.rig = NULL;
        replaced_run(rig, "test -d $ID || { rm $ID && mv .f $ID; }");
        for (int restart = 0; restart < 2; restart++) {
            replaced_maybe_restart(rig, restart);
            rig_run(rig, 180000, false);
            replaced_is_not_forged(rig, complete);
            assert_int_equal(rig_summary(rig).sessions_blocked, 1);
        }
        replaced_run(rig, "rm -r $ID && mv .kept $ID");
        if (!complete) {
            live_close(&s);
        }
        rig_run(rig, 180000, false);
        rig_all_same(rig, RIG_ID);
        replaced_is_not_forged(rig, true);
        assert_int_equal(rig_summary(rig).sessions_blocked, 0);
        rig_delete(rig);
    }
}

static void a_directory_that_changes_at_each_look_is_read_as_the_noted_one(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    for (uint32_t seed = 0; seed < 20; seed++) {
        struct rig *rig = rig_new();
        struct live_session s;
        struct sys sys = replaced_watch_opens(rig);
        rig->config.sys = &sys;
        replaced_begin(rig, &s);
        replaced_forge(rig);
        replaced_run(rig, "mv .forged .f");
        replaced_swap.rig = rig;
        replaced_swap.at_random = true;
        replaced_swap.random = seed;
        live_line(&s, "device", "late", 1);
        rig_run(rig, 180000, false);
        replaced_is_not_forged(rig, false);
        replaced_swap.rig = NULL;
        replaced_run(rig, "test $(stat -c %u $ID) = 0 || { mv $ID .g && mv .f $ID; }");
        live_close(&s);
        rig_run(rig, 180000, false);
        rig_all_same(rig, RIG_ID);
        replaced_is_not_forged(rig, true);
        rig_delete(rig);
    }
}

static void what_took_its_place_does_not_keep_a_session_from_being_followed(void **state)
{
    (void)state;
    for (int how = 0; how < 4; how++) {
        struct rig *rig = rig_new();
        struct live_session s;
        bool copy = how & 1;
        if (!copy && geteuid() != 0) {
            continue;
        }
        replaced_begin(rig, &s);
        rig_stop(rig);
        replaced_run(rig, "mkdir arch && mv $ID arch/");
        replaced_is_at(rig, &s, "arch/" RIG_ID);
        if (copy) {
            replaced_run(rig, "cp -a arch/$ID .");
        } else {
            replaced_plant(rig);
        }
        rig_start(rig);
        rig_run(rig, 60000, false);
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
        replaced_maybe_restart(rig, how & 2);
        live_line(&s, "device", "late", 1);
        live_close(&s);
        rig_run(rig, 60000, false);
        replaced_nothing_was_forged(rig);
        char *want = rig_file(rig, "arch/" RIG_ID "/device.log");
        char *got = rig_stored(rig, RIG_ID, "device");
        assert_string_equal(got, want);
        free(want);
        free(got);
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
        assert_int_equal(rig_summary(rig).sessions_blocked, 1); /* what took its place */
        rig_delete(rig);
    }
}

static void a_copy_that_took_the_name_of_a_session_does_not_end_it(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++) {
        struct rig *rig = rig_new();
        struct live_session s;
        replaced_begin(rig, &s);
        replaced_run(rig, "cp -a $ID $ID.new && mv $ID $ID.old && mv $ID.new $ID");
        replaced_is_at(rig, &s, RIG_ID ".old");
        replaced_maybe_restart(rig, restart);
        rig_run(rig, 180000, false);
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
        assert_int_equal(rig_summary(rig).sessions_blocked, 2);
        live_line(&s, "device", "late", 1);
        replaced_run(rig, "rm -r $ID && mv $ID.old $ID");
        replaced_is_at(rig, &s, RIG_ID);
        live_close(&s);
        rig_run(rig, 60000, false);
        rig_all_same(rig, RIG_ID);
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
        assert_int_equal(rig_summary(rig).sessions_blocked, 0);
        rig_delete(rig);
    }
}

/* As from a backup: the noted directory is nowhere. */
static void a_session_that_was_restored_goes_on(void **state)
{
    (void)state;
    for (int how = 0; how < 4; how++) {
        struct rig *rig = rig_new();
        struct live_session s;
        replaced_begin(rig, &s);
        replaced_run(rig, "cp -a $ID .new && rm -r $ID");
        if (how & 1) {
            rig_run(rig, 90000, false);
        }
        replaced_run(rig, "mv .new $ID");
        replaced_maybe_restart(rig, how & 2);
        live_line(&s, "device", "late", 1);
        live_close(&s);
        rig_run(rig, 60000, false);
        rig_all_same(rig, RIG_ID);
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
        assert_int_equal(rig_summary(rig).sessions_blocked, 0);
        rig_delete(rig);
    }
}

/* As at the end of a container that ran as root. */
static void a_session_that_root_gave_to_a_user_goes_on(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    for (int restart = 0; restart < 2; restart++) {
        struct rig *rig = rig_new();
        struct live_session s;
        replaced_begin(rig, &s);
        live_line(&s, "device", "late", 1);
        replaced_run(rig, "chown -R 12345 $ID");
        replaced_maybe_restart(rig, restart);
        live_close(&s);
        rig_run(rig, 60000, false);
        rig_all_same(rig, RIG_ID);
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
        rig_delete(rig);
    }
}

static void what_another_boot_noted_tells_only_whose_a_directory_was(void **state)
{
    (void)state;
    char *dir = dirs_make();
    struct directory_id now = directory_look(-1, dir);
    struct directory_id known = now;
    assert_int_equal(now.user, geteuid() + 1);
    assert_int_equal(directory_compare(-1, dir, &known), DIRECTORY_SAME);
    known.mark ^= 1;
    if (now.mark) {
        assert_int_equal(directory_compare(-1, dir, &known), DIRECTORY_OTHER);
    }
    known.boot ^= 1;
    assert_int_equal(directory_compare(-1, dir, &known), DIRECTORY_SAME);
    known.user++;
    assert_int_equal(directory_compare(-1, dir, &known), DIRECTORY_FOREIGN);
    known.user = 0;
    assert_int_equal(directory_compare(-1, dir, &known), DIRECTORY_SAME);
    dirs_remove(dir);
}

/* In a user namespace, everybody else is one user. */
static void a_user_that_is_not_known_may_be_another_one(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    char *dir = dirs_make();
    assert_int_equal(chown(dir, DIRECTORY_USER_UNKNOWN, (gid_t)-1), 0);
    struct directory_id known = directory_look(-1, dir);
    assert_int_equal(directory_compare(-1, dir, &known), DIRECTORY_SAME);
    known.mark ^= 1;
    if (directory_look(-1, dir).mark) {
        assert_int_equal(directory_compare(-1, dir, &known), DIRECTORY_FOREIGN);
    }
    known.boot ^= 1;
    assert_int_equal(directory_compare(-1, dir, &known), DIRECTORY_SAME);
    known.user = ANOTHER_USER;
    assert_int_equal(directory_compare(-1, dir, &known), DIRECTORY_SAME);
    dirs_remove(dir);
}

static void a_record_of_the_version_before_tells_no_owner(void **state)
{
    (void)state;
    struct record_payload out;
    struct record_directory back;
    struct bytes *b = record_payload_begin(&out);
    bytes_put_uint(b, 7, 8);
    bytes_put_string(b, RIG_ID);
    bytes_put_string(b, "");
    struct journal_record raw = {.type = JOURNAL_DIRECTORY,
                                 .payload = out.data,
                                 .len = (size_t)(b->at - out.data)};
    assert_true(record_parse_directory(&raw, &back));
    assert_int_equal(back.id.mark, 7);
    assert_int_equal(back.id.user, 0);
    assert_int_equal(back.id.boot, 0);
    assert_string_equal(back.path, RIG_ID);
}

/* As it is in a journal that was written before directories were noted. */
static void replaced_forget_directory(const struct rig *rig)
{
    struct parked_session *s = parked_find(&ended_root(rig)->parked, RIG_ID);
    assert_non_null(s);
    assert_true(s->complete);
    parked_set_directory(s, &(struct directory_id){0});
}

static void a_complete_session_of_an_earlier_journal_gets_its_owner_noted(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    for (int restart = 0; restart < 2; restart++) {
        struct rig *rig = rig_new();
        struct live_session s;
        replaced_begin(rig, &s);
        live_close(&s);
        rig_run(rig, 90000, false);
        replaced_forget_directory(rig);
        rig_run(rig, 180000, false);
        replaced_maybe_restart(rig, restart);
        replaced_run(rig, "mv $ID .kept");
        replaced_plant(rig);
        replaced_run(rig, "cp .kept/.gpufl-session.json $ID/ && chown 12345 $ID/.gpufl*");
        rig_run(rig, 180000, false);
        replaced_nothing_was_forged(rig);
        assert_int_equal(rig_summary(rig).sessions_blocked, 1);
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
        rig_delete(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_directory_of_another_user_is_not_read_in_the_place_of_one),
        cmocka_unit_test(what_is_compared_is_what_is_read_and_noted),
        cmocka_unit_test(a_directory_that_changes_at_each_look_is_read_as_the_noted_one),
        cmocka_unit_test(what_took_its_place_does_not_keep_a_session_from_being_followed),
        cmocka_unit_test(a_copy_that_took_the_name_of_a_session_does_not_end_it),
        cmocka_unit_test(a_session_that_was_restored_goes_on),
        cmocka_unit_test(a_session_that_root_gave_to_a_user_goes_on),
        cmocka_unit_test(what_another_boot_noted_tells_only_whose_a_directory_was),
        cmocka_unit_test(a_user_that_is_not_known_may_be_another_one),
        cmocka_unit_test(a_record_of_the_version_before_tells_no_owner),
        cmocka_unit_test(a_complete_session_of_an_earlier_journal_gets_its_owner_noted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
