/* SPDX-License-Identifier: Apache-2.0 */
/* When another uploader's progress covers what is in a directory. */
#include "tests/support/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "tests/support/dirs.h"
#include "upload/holder_look.h"
#include "upload/source/file_mark.h"
#include "upload/source/scan_session.h"
#include "upload/wait_holder.h"

#define ID     "11111111-1111-4111-8111-111111111111"
#define LINE   39u /* bytes of one */
#define HEADER "gpufl-progress 1 pid=1 program=x\n"

static uint64_t after_the_deadline(void)
{
    return 1000;
}

static struct holder_wait waited;
static struct engine_summary left;
static size_t bytes_read;

/* A root with one session, and what is told of it. */
struct looked {
    char *dir;
    int root;
    struct sys sys;
    struct selection selection;
    struct holder_targets *targets;
};

static uint64_t holds_from_ms;
static uint64_t epoch;

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
    struct holder_targets *targets;
    assert_int_equal(holder_targets_open(&sys, root, &selection, NULL, &targets),
                     GPUFL_OK);
    holder_look_in_epoch(targets, epoch);
    gpufl_status status = wait_for_holder(&sys, targets, &waited);
    left = (struct engine_summary){0};
    holder_targets_count(targets, NULL, &left);
    holder_targets_close(targets);
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
        if (status != row[i].status || left.sessions_done != row[i].complete ||
            left.sessions_kept_back != row[i].kept_back ||
            left.lines_refused_final != row[i].refused ||
            engine_summary_accepted(&left) != row[i].accepted) {
            fail_msg("row %zu: %d, %u complete, %u kept back, %u blocked: %s", i,
                     (int)status, left.sessions_done, left.sessions_kept_back,
                     left.sessions_blocked, left.held);
        }
        if (row[i].lives) {
            live_close(&s);
        }
        dirs_remove(root);
    }
    holds_from_ms = 0;
}

/* The backend, which is in epoch 7, may have lost it. */
static void what_was_compared_in_another_epoch_is_not_over(void **state)
{
    (void)state;
    static const struct {
        const char *end;
        uint64_t epoch;
        gpufl_status status;
        bool lives;
    } row[] = {
        {" done seen=0 epoch=7", 7, GPUFL_OK, false},
        {" done seen=0 epoch=6", 7, GPUFL_PARTIAL, false},
        {" done seen=0 epoch=6", 0, GPUFL_OK, false},
        {" done seen=0", 7, GPUFL_OK, false},
        {" seen=0 epoch=7", 7, GPUFL_OK, true},
        {" seen=0 ends epoch=6", 7, GPUFL_PARTIAL, true},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        char *root = dirs_make();
        char text[300];
        struct live_session s;
        live_open(&s, root, ID);
        dirs_append(s.dir, "device.log", "ten bytes\n");
        if (!row[i].lives) {
            live_close(&s);
        }
        epoch = row[i].epoch;
        snprintf(text, sizeof text,
                 HEADER "!lines 1 0 0 1 16 0%s\n" ID " device 1 10 1 1\n", row[i].end);
        if (wait_at(root, text) != row[i].status) {
            fail_msg("row %zu", i);
        }
        if (row[i].lives) {
            live_close(&s);
        }
        dirs_remove(root);
    }
    epoch = 0;
}

/* \return what stands for the files of the session in \p root. */
static uint64_t stamp_of(const char *path)
{
    struct scan scan;
    int root = open(path, O_RDONLY | O_DIRECTORY);
    assert_int_equal(scan_session(&sys_real, root, ID, ID, &scan), GPUFL_OK);
    close(root);
    return scan_stamp(&scan);
}

/* The end of one is told by its last part alone, if it has several. */
static void of_a_compressed_sealed_file_the_size_is_not_known(void **state)
{
    (void)state;
    char *root = dirs_make();
    char text[200];
    struct live_session s;
    live_open(&s, root, ID);
    dirs_append(s.dir, "device.1.log.gz", "x");
    dirs_append(s.dir, "device.log", "");
    assert_int_equal(
        wait_at(root, HEADER "!lines 1 0 0 1 0 0 seen=0\n" ID " device 1 1 1 1\n"),
        GPUFL_PARTIAL);
    snprintf(text, sizeof text, "%s/.gpufl-agent/progress", root);
    assert_int_equal(unlink(text), 0);
    snprintf(text, sizeof text,
             HEADER "!lines 1 0 0 1 0 0 seen=%llx\n" ID " device 1 1 1 1\n",
             (unsigned long long)stamp_of(root));
    assert_int_equal(wait_at(root, text), GPUFL_OK);
    live_close(&s);
    dirs_remove(root);
}

/* An earlier version tells of its end late, and this may be a session that it holds. */
static void what_lacks_files_is_waited_for(void **state)
{
    (void)state;
#define LOSS ".gpufl-transport-loss.spool.0.json"
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
        /* Lines were dropped while recording: it is never complete. */
        {11, "\"device\"", LOSS, GPUFL_OK},
        {10, "\"device\",\"scope\"", LOSS, GPUFL_PARTIAL},
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

/* A session in another layout than ours, of the files in \p name, which end in "". */
static char *older_session(const char *const name[4])
{
    char *root = dirs_make();
    char dir[512];
    snprintf(dir, sizeof dir, "%s/" ID, root);
    assert_int_equal(mkdir(dir, 0755), 0);
    for (unsigned i = 0; name[i]; i++) {
        dirs_append(dir, name[i], "{}\n");
    }
    return root;
}

/* Numbers shift, and the size of a compressed file says nothing: only the files as a
 * whole can be compared. What an earlier version says of its end may be about fewer. */
static void a_session_whose_end_is_hidden_is_over_once_its_files_are_settled(void **state)
{
    (void)state;
    enum { UNTOLD, NOT_YET, SETTLED };
    static const struct {
        const char *name[4];
        const char *marks;
        int seen;
        const char *rest;
        gpufl_status status;
        unsigned complete;
    } row[] = {
        {{"device.log", "device.1.log"}, "", UNTOLD, "", GPUFL_PARTIAL, 0},
        {{"device.log", "device.1.log"}, " done", UNTOLD, "", GPUFL_PARTIAL, 1},
        {{"device.log", "device.1.log"}, " done", NOT_YET, "", GPUFL_PARTIAL, 1},
        {{"device.log", "device.1.log"}, " done", SETTLED, " ends", GPUFL_OK, 1},
        {{"device.log", "device.1.log"}, "", SETTLED, " ends", GPUFL_PARTIAL, 0},
        {{"device.log", "device.1.log"}, "", SETTLED, "", GPUFL_OK, 0},
        {{"device.log", "device.1.log", LOSS}, "", UNTOLD, "", GPUFL_PARTIAL, 0},
        {{"device.log", "device.1.log", LOSS}, "", NOT_YET, "", GPUFL_PARTIAL, 0},
        {{"device.log", "device.1.log", LOSS}, "", SETTLED, "", GPUFL_OK, 0},
        {{"device.log.gz"}, "", UNTOLD, "", GPUFL_PARTIAL, 0},
        {{"device.log.gz"}, " done", UNTOLD, "", GPUFL_PARTIAL, 1},
        {{"device.log.gz"}, " done", SETTLED, " ends", GPUFL_OK, 1},
        {{"device.log.gz"}, "", SETTLED, "", GPUFL_OK, 0},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        char *root = older_session(row[i].name);
        char text[400];
        char seen[40] = "";
        if (row[i].seen != UNTOLD) {
            snprintf(seen, sizeof seen, " seen=%llx",
                     row[i].seen == SETTLED ? (unsigned long long)stamp_of(root) : 0);
        }
        snprintf(text, sizeof text,
                 HEADER "!lines 2 0 0 3 0 1%s%s%s\n" ID " device 9 9 1 1\n", row[i].marks,
                 seen, row[i].rest);
        gpufl_status status = wait_at(root, text);
        if (status != row[i].status || left.sessions_done != row[i].complete) {
            fail_msg("row %zu: %d, %u complete", i, (int)status, left.sessions_done);
        }
        dirs_remove(root);
    }
}

/* The active file of a session of 1.1 was rotated before; what is told lies in that. */
static void
a_session_that_is_written_all_the_time_is_over_where_that_is_passed(void **state)
{
    (void)state;
    static const struct {
        unsigned told; /* lines of the file */
        uint32_t mark; /* that it is about */
        const char *ends;
        bool grows;
        bool over;
    } row[] = {
        {20, 0, "", true, true},   {19, 0, "", true, false},
        {20, 0, "", false, false}, {20, 0, " ends", true, false},
        {20, 1, "", true, false},  {21, 0, "", true, true},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        char line[LINE + 1];
        char path[500];
        char text[400];
        bool changed;
        struct looked look = {.dir = dirs_make(), .sys = sys_real};
        snprintf(path, sizeof path, "%s/" ID, look.dir);
        assert_int_equal(mkdir(path, 0755), 0);
        dirs_append(path, "device.1.log", "{}\n");
        struct record_mark mark = {0};
        for (unsigned n = 0; n < 20; n++) {
            snprintf(line, sizeof line, "{\"n\":%32u}\n", n);
            dirs_append(path, "device.log", line);
            mark = n < row[i].told ? file_mark_over(mark, line, LINE) : mark;
        }
        look.root = open(look.dir, O_RDONLY | O_DIRECTORY);
        assert_int_equal(select_list(&look.sys, look.root, 0, &look.selection), GPUFL_OK);
        assert_int_equal(holder_targets_open(&look.sys, look.root, &look.selection, NULL,
                                             &look.targets),
                         GPUFL_OK);
        snprintf(line, sizeof line, "{\"n\":%32u}\n", 20u);
        if (row[i].grows) {
            dirs_append(path, "device.log", line);
        }
        mark = row[i].told > 20 ? file_mark_over(mark, line, LINE) : mark;
        snprintf(path, sizeof path, "%s/.gpufl-agent", look.dir);
        assert_int_equal(mkdir(path, 0755), 0);
        snprintf(text, sizeof text,
                 HEADER "!lines 9 0 0 3 16 0 seen=0%s mark=%u:%x\n" ID
                        " device 7 %u 1 1\n",
                 row[i].ends, mark.bytes, mark.crc32 + row[i].mark, row[i].told * LINE);
        dirs_append(path, "progress", text);
        assert_int_equal(holder_look(look.targets, NULL, &changed), GPUFL_OK);
        if (holder_targets_over(look.targets, false) != row[i].over) {
            fail_msg("row %zu", i);
        }
        holder_targets_close(look.targets);
        select_free(&look.selection);
        close(look.root);
        dirs_remove(look.dir);
    }
}

/* Nothing but its uploader's word tells whether the writer of an older layout lives. */
static void a_session_of_an_older_layout_that_ends_is_waited_for(void **state)
{
    (void)state;
    static const struct {
        const char *seen; /* NULL = the stamp */
        const char *rest;
        gpufl_status status;
    } row[] = {
        {"", "", GPUFL_OK}, /* by an earlier version */
        {" seen=0", "", GPUFL_PARTIAL},
        {NULL, " ends", GPUFL_PARTIAL},
        {NULL, "", GPUFL_OK},
        {" done seen=0", " ends", GPUFL_OK},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        static const char *const name[4] = {"device.log"};
        char *root = older_session(name);
        char seen[40];
        char text[300];
        snprintf(seen, sizeof seen, " seen=%llx", (unsigned long long)stamp_of(root));
        snprintf(text, sizeof text,
                 HEADER "!lines 1 0 0 3 0 1%s%s\n" ID " device 1 3 1 1\n",
                 row[i].seen ? row[i].seen : seen, row[i].rest);
        gpufl_status status = wait_at(root, text);
        if (status != row[i].status) {
            fail_msg("row %zu: %d", i, (int)status);
        }
        dirs_remove(root);
    }
}

static int cannot_open(int dir, const char *path, int flags, mode_t mode)
{
    if (strcmp(path, ID) == 0) {
        errno = EACCES;
        return -1;
    }
    return sys_real.open_beneath(dir, path, flags, mode);
}

static ssize_t counts_reads(int fd, void *buf, size_t len, off_t at)
{
    ssize_t n = sys_real.pread(fd, buf, len, at);
    bytes_read += n > 0 ? (size_t)n : 0;
    return n;
}

/* One session with a file, in \p group, "" = none. */
static struct looked look_open(const char *group, const char *name, const char *text)
{
    char path[600];
    struct looked look = {.dir = dirs_make(), .sys = sys_real};
    snprintf(path, sizeof path, "%s%s%s", look.dir, *group ? "/" : "", group);
    assert_true(!*group || mkdir(path, 0755) == 0);
    snprintf(path + strlen(path), sizeof path - strlen(path), "/" ID);
    assert_int_equal(mkdir(path, 0755), 0);
    dirs_append(path, name, text);
    snprintf(path, sizeof path, "%s/.gpufl-agent", look.dir);
    assert_int_equal(mkdir(path, 0755), 0);
    look.root = open(look.dir, O_RDONLY | O_DIRECTORY);
    look.sys.now_ms = after_the_deadline;
    assert_int_equal(select_list(&look.sys, look.root, 0, &look.selection), GPUFL_OK);
    assert_int_equal(look.selection.count, 1);
    return look;
}

static void look_tell(const struct looked *look, const char *file, const char *text)
{
    char dir[600];
    char path[640];
    snprintf(dir, sizeof dir, "%s/.gpufl-agent", look->dir);
    snprintf(path, sizeof path, "%s/%s", dir, file);
    (void)unlink(path);
    dirs_append(dir, file, HEADER);
    dirs_append(dir, file, text);
}

static void look_close(struct looked *look)
{
    holder_targets_close(look->targets);
    select_free(&look->selection);
    close(look->root);
    dirs_remove(look->dir);
}

static void look_begin(struct looked *look)
{
    assert_int_equal(holder_targets_open(&look->sys, look->root, &look->selection, NULL,
                                         &look->targets),
                     GPUFL_OK);
}

/* \return whether the session is over. */
static bool look_again(struct looked *look)
{
    bool changed;
    assert_int_equal(holder_look(look->targets, NULL, &changed), GPUFL_OK);
    bool over = holder_targets_over(look->targets, false);
    left = (struct engine_summary){0};
    holder_targets_count(look->targets, NULL, &left);
    return over;
}

/* Nothing shows what it holds; its uploader may be able to read it. */
static void a_session_that_cannot_be_read_is_not_sent(void **state)
{
    (void)state;
    struct looked look = look_open("", "device.log", "{}\n");
    look.sys.open_beneath = cannot_open;
    look_begin(&look);
    look_tell(&look, "progress", "");
    assert_true(look_again(&look));
    assert_int_equal(left.sessions_kept_back, 1);
    assert_non_null(strstr(left.held, "its directory cannot be read"));
    look_tell(&look, "complete", "!lines 1 0 0 1 0 1\n" ID " device 1 3 1 1\n");
    assert_true(look_again(&look));
    assert_int_equal(left.sessions_kept_back, 0);
    assert_int_equal(left.sessions_done, 1);
    look_close(&look);
}

static void
a_session_in_a_group_that_is_left_to_another_uploader_is_not_sent(void **state)
{
    (void)state;
    struct looked look = look_open("g", "device.log", "{}\n");
    look_begin(&look);
    look_tell(&look, "progress", "!held g * skipped: it has an uploader of its own\n");
    assert_true(look_again(&look));
    assert_int_equal(left.sessions_kept_back, 1);
    look_close(&look);
    for (int other = 0; other < 2; other++) { /* whose group it is */
        char group[600];
        look = look_open("g", "device.log", "{}\n");
        look.selection.session[0].own_user = false;
        snprintf(group, sizeof group, "%s/g", look.dir);
        if (other && (geteuid() != 0 || chown(group, 12345, 12345) < 0)) {
            look_close(&look);
            return; /* only root can give it away */
        }
        look_begin(&look);
        look_tell(&look, "progress",
                  "!held g * skipped: it has an uploader of its own\n");
        assert_true(look_again(&look));
        assert_int_equal(left.sessions_kept_back, !other);
        look_close(&look);
    }
}

/* Windows of the existing client. An uploader that does not name them leaves it at that.
 */
static void a_session_that_says_that_it_is_sent_is_not_waited_for(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct looked look = look_open("", ".gpufl-window.device.1.json", "{}\n");
        char dir[600];
        snprintf(dir, sizeof dir, "%s/" ID, look.dir);
        dirs_append(dir, "device.1.log.gz", "x");
        if (i > 0) {
            dirs_append(dir, ".uploaded", "");
        }
        look_begin(&look);
        look_tell(&look, "progress", i == 2 ? ID " device 1 0 1 2\n" : "");
        assert_int_equal(look_again(&look), i == 1);
        look_close(&look);
    }
}

static void windows_that_nobody_publishes_are_not_waited_for(void **state)
{
    (void)state;
    char dir[600];
    struct looked look = look_open("", ".gpufl-window.device.1.json", "{}\n");
    snprintf(dir, sizeof dir, "%s/" ID "/.tmp", look.dir);
    assert_int_equal(mkdir(dir, 0755), 0);
    look_begin(&look);
    look_tell(&look, "progress", "!held " ID " * windows are in .tmp\n");
    assert_true(look_again(&look));
    assert_int_equal(left.sessions_kept_back, 1);
    look_close(&look);
}

static void a_session_that_is_removed_is_not_waited_for(void **state)
{
    (void)state;
    char path[600];
    struct looked look = look_open("", "device.log", "{}\n");
    look_begin(&look);
    look_tell(&look, "progress", "");
    assert_false(look_again(&look));
    snprintf(path, sizeof path, "%s/" ID "/device.log", look.dir);
    assert_int_equal(unlink(path), 0);
    *strrchr(path, '/') = '\0';
    assert_int_equal(rmdir(path), 0);
    assert_true(look_again(&look));
    assert_int_equal(left.sessions_away, 1);
    assert_string_equal(left.away_session, ID);
    look_close(&look);
}

static void what_is_appended_to_a_complete_session_is_waited_for(void **state)
{
    (void)state;
    char text[200];
    char dir[600];
    struct looked look = look_open("", "device.log", "{}\n");
    snprintf(dir, sizeof dir, "%s/" ID, look.dir);
    dirs_append(dir, "device.1.log", "{}\n");
    snprintf(text, sizeof text, "!lines 2 0 0 3 0 1 seen=%llx\n" ID " device 2 3 1 0\n",
             (unsigned long long)stamp_of(look.dir));
    dirs_append(dir, "device.log", "{}\n");
    look_begin(&look);
    look_tell(&look, "progress", "");
    look_tell(&look, "complete", text);
    assert_false(look_again(&look));
    snprintf(text, sizeof text, "!lines 3 0 0 3 0 1 seen=%llx\n" ID " device 2 6 1 0\n",
             (unsigned long long)stamp_of(look.dir));
    look_tell(&look, "complete", text);
    assert_true(look_again(&look));
    assert_int_equal(left.sessions_done, 1);
    look_close(&look);
}

/* There may be very many that are complete. */
static void only_what_has_changed_is_read(void **state)
{
    (void)state;
    struct looked look = look_open("", "device.log", "{}\n");
    struct text many = {0};
    look.sys.pread = counts_reads;
    look_begin(&look);
    text_puts(&many, "!lines 1 0 0 1 0 1\n" ID " device 1 3 1 1\n");
    for (int i = 0; i < 5000; i++) {
        text_printf(&many, "%d device 1 3 1 1\n", i);
    }
    text_append(&many, "", 1);
    look_tell(&look, "complete", many.data);
    look_tell(&look, "progress", "");
    bytes_read = 0;
    assert_true(look_again(&look));
    assert_true(bytes_read > many.len);
    bytes_read = 0;
    assert_true(look_again(&look));
    assert_int_equal(bytes_read, 0);
    look_tell(&look, "progress", "9 device 1 3 1 1\n");
    assert_true(look_again(&look));
    assert_int_equal(left.sessions_done, 1);
    assert_in_range(bytes_read, 1, 1000);
    look_tell(&look, "complete", "");
    assert_false(look_again(&look));
    text_fini(&many);
    look_close(&look);
}

/* What another user's session lacks does not come: it is told from our own. */
static void what_is_left_is_told_by_its_user(void **state)
{
    (void)state;
    char which[256];
    uint64_t moved;
    uint64_t before;
    struct looked look = look_open("", "device.log", "{}\n");
    look_begin(&look);
    look_tell(&look, "progress", ID " device 1 1 1 1\n");
    assert_false(look_again(&look));
    assert_false(holder_targets_of_others(look.targets, &moved, which));
    look.selection.session[0].own_user = false;
    assert_true(holder_targets_of_others(look.targets, &before, which));
    assert_non_null(strstr(which, "session " ID " of user "));
    look_tell(&look, "progress", ID " device 1 2 1 1\n");
    assert_false(look_again(&look));
    assert_true(holder_targets_of_others(look.targets, &moved, which));
    assert_true(moved != before);
    look_tell(&look, "progress", ID " device 1 3 1 1\n");
    assert_true(look_again(&look));
    assert_false(holder_targets_of_others(look.targets, &moved, which));
    look_close(&look);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_that_cannot_be_read_is_not_sent),
        cmocka_unit_test(
            a_session_in_a_group_that_is_left_to_another_uploader_is_not_sent),
        cmocka_unit_test(
            a_session_that_is_written_all_the_time_is_over_where_that_is_passed),
        cmocka_unit_test(what_was_compared_in_another_epoch_is_not_over),
        cmocka_unit_test(a_session_that_says_that_it_is_sent_is_not_waited_for),
        cmocka_unit_test(windows_that_nobody_publishes_are_not_waited_for),
        cmocka_unit_test(a_session_that_is_removed_is_not_waited_for),
        cmocka_unit_test(only_what_has_changed_is_read),
        cmocka_unit_test(what_is_left_is_told_by_its_user),
        cmocka_unit_test(what_is_settled_is_compared_channel_by_channel),
        cmocka_unit_test(a_session_is_over_once_its_uploader_has_judged_it),
        cmocka_unit_test(what_lacks_files_is_waited_for),
        cmocka_unit_test(of_a_compressed_sealed_file_the_size_is_not_known),
        cmocka_unit_test(a_session_for_which_the_holder_has_no_room_is_noticed),
        cmocka_unit_test(progress_of_another_backend_or_database_is_not_believed),
        cmocka_unit_test(progress_that_another_user_wrote_is_not_believed),
        cmocka_unit_test(
            a_session_whose_end_is_hidden_is_over_once_its_files_are_settled),
        cmocka_unit_test(a_session_of_an_older_layout_that_ends_is_waited_for),
        cmocka_unit_test(what_is_appended_to_a_complete_session_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
