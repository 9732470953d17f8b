/* SPDX-License-Identifier: Apache-2.0 */
/* When another uploader's progress covers what is in a directory. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/dirs.h"
#include "upload/wait_holder.h"

#define ID     "11111111-1111-4111-8111-111111111111"
#define HEADER "gpufl-progress 1 pid=1 program=x\n"

static uint64_t after_the_deadline(void)
{
    return 1000;
}

static struct holder_wait waited;
static uint64_t holds_from_ms;

/* \p progress NULL: there is no file. */
static gpufl_status wait_at(const char *path, const char *progress)
{
    char dir[512];
    struct sys sys = sys_real;
    struct selection selection;
    int root = open(path, O_RDONLY | O_DIRECTORY);
    snprintf(dir, sizeof dir, "%s/.gpufl-agent", path);
    mkdir(dir, 0755);
    if (progress) {
        dirs_append(dir, "progress", progress);
    }
    sys.now_ms = after_the_deadline;
    assert_int_equal(select_list(&sys, root, 0, &selection), GPUFL_OK);
    waited = (struct holder_wait){.deadline_ms = 10, .holds_from_ms = holds_from_ms};
    gpufl_status status = wait_for_holder(&sys, root, &selection, &waited);
    select_free(&selection);
    close(root);
    return status;
}

/* A sealed file, and an active one of 10 bytes. */
static void what_is_settled_is_compared_channel_by_channel(void **state)
{
    (void)state;
    static const struct {
        const char *progress;
        gpufl_status status;
    } row[] = {
        {NULL, GPUFL_BUSY},
        {HEADER, GPUFL_PARTIAL},
        {HEADER ID " device 1 99 1 1\n", GPUFL_PARTIAL},
        {HEADER ID " device 2 9 1 1\n", GPUFL_PARTIAL},
        {HEADER ID " device 2 10 1 1\n", GPUFL_OK},
        {HEADER ID " device 3 0 1 1\n", GPUFL_OK},
        {HEADER ID " scope 9 9 1 1\n", GPUFL_PARTIAL},
        {HEADER "other device 9 9 1 1\n", GPUFL_PARTIAL},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        char *root = dirs_make();
        struct live_session s;
        live_open(&s, root, ID);
        live_line(&s, "device", "x", 1);
        live_rotate(&s, "device", 1);
        dirs_append(s.dir, "device.log", "ten bytes\n");
        gpufl_status status = wait_at(root, row[i].progress);
        if (status != row[i].status) {
            fail_msg("row %zu: %d", i, (int)status);
        }
        live_close(&s);
        dirs_remove(root);
    }
}

/* Of a session with 10 bytes of the channel device, and 4 of scope, whose writer has
 * ended. What an earlier version leaves out is no reason to wait. */
static void a_session_is_over_once_its_uploader_has_judged_it(void **state)
{
    (void)state;
#define GONE     "its active file is gone"
#define ALL_SENT ID " device 1 10 1 1\n" ID " scope 1 4 1 1\n"
#define FIGURES(refused, marks, rest)                                                    \
    "!lines 1 " refused " 0 1 " marks " 0" rest "\n" ID " device 1 10 1 1\n" ID          \
    " scope 1 4 1 1\n"
    static const struct {
        const char *progress;
        uint64_t holds_from_ms; /* it is 1000 */
        gpufl_status status;
        unsigned complete, kept_back;
        unsigned refused;
        bool accepted;
        bool lives;
        bool unread;
    } row[] = {
        {.progress = FIGURES("0", "0", " done"), .complete = 1, .accepted = true},
        {.progress = FIGURES("0", "0", ""), .status = GPUFL_PARTIAL, .accepted = true},
        {.progress = FIGURES("0", "0", ""), .lives = true, .accepted = true},
        {.progress = ALL_SENT, .accepted = true},
        {.progress = FIGURES("2", "0", ""), .refused = 2},
        {.progress = FIGURES("2", "0", ""), .refused = 2, .lives = true},
        {.progress = FIGURES("2", "0", " done"), .complete = 1, .accepted = true},
        {.progress = FIGURES("0", "2", "")},
        {.progress = "!held " ID " device " GONE "\n" ALL_SENT, .kept_back = 1},
        {.progress = "!held " ID " device " GONE "\n" ALL_SENT,
         .kept_back = 1,
         .lives = true},
        {.progress = "!held " ID " device " GONE "\n" FIGURES("0", "0", " done"),
         .complete = 1,
         .accepted = true},
        {.progress = "!held " ID
                     " * a directory of another user has its name (session.replaced): "
                     "remove it\n" FIGURES("0", "0", " done"),
         .complete = 1,
         .kept_back = 1},
        {.progress = "!held " ID " device " GONE "\n" ALL_SENT,
         .holds_from_ms = 1001,
         .status = GPUFL_PARTIAL,
         .kept_back = 1},
        /* What is held keeps back the shutdown of the other channel. */
        {.progress = "!held " ID " device " GONE "\n" ID " scope 1 1 1 1\n",
         .kept_back = 1},
        {.progress = "!held " ID " * " GONE "\n", .kept_back = 1},
        {.progress = "!held " ID " device the words of a later version\n" ALL_SENT,
         .status = GPUFL_PARTIAL,
         .kept_back = 1},
        {.progress = "!held other device " GONE "\n" ALL_SENT, .accepted = true},
        {.progress = ALL_SENT, .unread = true, .kept_back = 1},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        char *root = dirs_make();
        char text[600];
        struct live_session s;
        live_open(&s, root, ID);
        live_list(&s, "\"device\",\"scope\"");
        dirs_append(s.dir, "device.log", "ten bytes\n");
        dirs_append(s.dir, "scope.log", "abc\n");
        if (row[i].unread) {
            dirs_append(s.dir, "device.log.1", "{}\n");
        }
        if (!row[i].lives) {
            live_close(&s);
        }
        holds_from_ms = row[i].holds_from_ms;
        snprintf(text, sizeof text, HEADER "%s", row[i].progress);
        gpufl_status status = wait_at(root, text);
        const struct engine_summary *left = &waited.left;
        if (status != row[i].status || left->sessions_done != row[i].complete ||
            left->sessions_kept_back != row[i].kept_back ||
            left->lines_refused_final != row[i].refused ||
            engine_summary_accepted(left) != row[i].accepted) {
            fail_msg("row %zu: %d, %u complete, %u kept back, %u blocked: %s", i,
                     (int)status, left->sessions_done, left->sessions_kept_back,
                     left->sessions_blocked, left->held);
        }
        if (row[i].lives) {
            live_close(&s);
        }
        dirs_remove(root);
    }
    holds_from_ms = 0;
}

/* An earlier version tells of its end late, and this may be a session that it holds. */
static void what_lacks_files_is_waited_for(void **state)
{
    (void)state;
    static const struct {
        long told;
        const char *channels;
        const char *more; /* a file */
        gpufl_status status;
    } row[] = {
        {10, "\"device\"", NULL, GPUFL_OK},
        {11, "\"device\"", NULL, GPUFL_PARTIAL},
        {10, "\"device\",\"scope\"", NULL, GPUFL_PARTIAL},
        {10, "\"device\",\"scope\"", ".uploaded", GPUFL_OK},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        char *root = dirs_make();
        struct live_session s;
        live_open(&s, root, ID);
        live_list(&s, row[i].channels);
        dirs_append(s.dir, "device.log", "ten bytes\n");
        live_tell(&s, NULL, "device", 1, row[i].told);
        if (row[i].more) {
            dirs_append(s.dir, row[i].more, "");
        }
        live_close(&s);
        gpufl_status status = wait_at(root, HEADER ID " device 1 10 1 1\n");
        if (status != row[i].status) {
            fail_msg("row %zu: %d", i, (int)status);
        }
        dirs_remove(root);
    }
}

/* What a longer wait cannot change is told. */
static void a_session_for_which_the_holder_has_no_room_is_noticed(void **state)
{
    (void)state;
    static const struct {
        uint32_t other; /* not of the session's user, but of the user after so many */
        const char *rest;
        unsigned waits;
    } row[] = {
        {0, "", 3},
        {1, "", 0},
        {0, ID " device 1 1 1 1\n", 0}, /* it is known there */
        {0, ID " device 9 9 1 1\n", 0}, /* it is sent */
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        char *root = dirs_make();
        char text[200];
        struct live_session s;
        live_open(&s, root, ID);
        live_line(&s, "device", "x", 1);
        snprintf(text, sizeof text, HEADER "!waits %u 3\n%s", geteuid() + row[i].other,
                 row[i].rest);
        (void)wait_at(root, text);
        const struct holder_room *room = &waited.room;
        if (room->waits != row[i].waits || (room->waits && room->owner != geteuid())) {
            fail_msg("row %zu: %u of %u", i, room->waits, room->owner);
        }
        live_close(&s);
        dirs_remove(root);
    }
}

/* Of a file that does not say about which backend it is, or which database, all counts.
 */
static void progress_of_another_backend_or_database_is_not_believed(void **state)
{
    (void)state;
    static const struct {
        const char *of;   /* NULL = it does not say */
        const char *rest; /* of the line */
        uint64_t database;
        enum progress_match match;
    } row[] = {
        {NULL, "", 7, PROGRESS_MAY_DIFFER},
        {"http://a", "", 7, PROGRESS_MAY_DIFFER},
        {"http://b", "", 7, PROGRESS_ELSEWHERE},
        {"http://a", " database=0000000000000000 state=1-2", 7, PROGRESS_MAY_DIFFER},
        {"http://a", " database=0000000000000007 state=1-2", 0, PROGRESS_MAY_DIFFER},
        {"http://a", " database=0000000000000007 state=1-2", 7, PROGRESS_SAME_DATABASE},
        {"http://a", " database=0000000000000008 state=1-2", 7, PROGRESS_ELSEWHERE},
        {"http://b", " database=0000000000000007 state=1-2", 7, PROGRESS_ELSEWHERE},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        char *path = dirs_make();
        char dir[512];
        char of[40] = "";
        const struct progress_origin origin = {"http://a", row[i].database};
        if (row[i].of) {
            snprintf(of, sizeof of, " origin=%016llx",
                     (unsigned long long)progress_origin_of(row[i].of));
        }
        snprintf(dir, sizeof dir, "%s/.gpufl-agent", path);
        assert_int_equal(mkdir(dir, 0755), 0);
        dirs_append(dir, "progress", "gpufl-progress 1 pid=1 program=x");
        dirs_append(dir, "progress", of);
        dirs_append(dir, "progress", row[i].rest);
        dirs_append(dir, "progress", "\n");
        int root = open(path, O_RDONLY | O_DIRECTORY);
        if (progress_compare_origin(&sys_real, root, &origin) != row[i].match) {
            fail_msg("row %zu", i);
        }
        close(root);
        dirs_remove(path);
    }
}

/* It could say that lines are sent which are not. */
static void progress_that_another_user_wrote_is_not_believed(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    char *root = dirs_make();
    char path[600];
    struct live_session s;
    live_open(&s, root, ID);
    live_line(&s, "device", "x", 1);
    assert_int_equal(wait_at(root, HEADER ID " device 9 9 1 1\n"), GPUFL_OK);
    snprintf(path, sizeof path, "%s/.gpufl-agent/progress", root);
    assert_int_equal(chown(path, 12345, 12345), 0);
    assert_int_equal(wait_at(root, NULL), GPUFL_BUSY);
    live_close(&s);
    dirs_remove(root);
}

static void a_11_session_that_rotated_cannot_be_waited_for(void **state)
{
    (void)state;
    char *root = dirs_make();
    char dir[512];
    snprintf(dir, sizeof dir, "%s/" ID, root);
    assert_int_equal(mkdir(dir, 0755), 0);
    dirs_append(dir, "device.log", "{}\n");
    dirs_append(dir, "device.1.log", "{}\n");
    assert_int_equal(wait_at(root, HEADER ID " device 9 9 1 1\n"), GPUFL_BUSY);
    dirs_remove(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_settled_is_compared_channel_by_channel),
        cmocka_unit_test(a_session_is_over_once_its_uploader_has_judged_it),
        cmocka_unit_test(what_lacks_files_is_waited_for),
        cmocka_unit_test(a_session_for_which_the_holder_has_no_room_is_noticed),
        cmocka_unit_test(progress_of_another_backend_or_database_is_not_believed),
        cmocka_unit_test(progress_that_another_user_wrote_is_not_believed),
        cmocka_unit_test(a_11_session_that_rotated_cannot_be_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
