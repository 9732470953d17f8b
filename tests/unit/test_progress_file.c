/* SPDX-License-Identifier: Apache-2.0 */
/* Progress files of earlier agents, and of this one as earlier programs read them. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "schema/layout.h"
#include "tests/support/dirs.h"
#include "tests/support/ended_sessions.h"
#include "tests/support/rig.h"
#include "upload/published/progress_file.h"

#define ID "11111111-1111-4111-8111-111111111111"

/* What is told of a few streams, and of how many. */
struct told {
    struct progress_line line[4];
    unsigned count;
    uint64_t offset; /* the sum of all */
    uint64_t lines;
};

static void told_add(void *arg, const struct progress_line *line)
{
    struct told *told = arg;
    if (told->count < sizeof told->line / sizeof told->line[0]) {
        told->line[told->count] = *line;
    }
    told->count++;
    told->offset += line->offset;
    told->lines += line->lines;
}

static struct told told_by(const char *progress, const char *complete)
{
    struct told told = {.count = 0};
    char dir[512];
    char *path = dirs_make();
    int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    snprintf(dir, sizeof dir, "%s/%s", path, LAYOUT_STATE_DIR);
    assert_int_equal(mkdir(dir, 0755), 0);
    dirs_append(dir, "progress", progress);
    if (complete) {
        dirs_append(dir, "complete", complete);
    }
    assert_int_equal(progress_read(&sys_real, root, NULL, told_add, &told), GPUFL_OK);
    close(root);
    dirs_remove(path);
    return told;
}

/* The text is that which the earlier agent wrote. */
static void files_of_an_agent_that_tells_no_figures_are_read(void **state)
{
    (void)state;
    struct told told =
        told_by("gpufl-progress 1 pid=7 program=gpufl-agent origin=8d6b34a2be2ad7f5\n"
                "!trouble 86400 no answer\n"
                "!held g/" ID " scope its active file is gone\n"
                "!more 2\n"
                "g/" ID " device 2 10 3 1\n",
                "gpufl-progress 1 pid=7 program=gpufl-agent origin=8d6b34a2be2ad7f5\n" ID
                " scope 1 281 4 2\n");
    const struct progress_line *line = told.line;
    assert_int_equal(told.count, 2);
    assert_string_equal(line[0].path, "g/" ID);
    assert_string_equal(line[0].channel, "device");
    assert_int_equal(line[0].file, 2);
    assert_int_equal(line[0].offset, 10);
    assert_int_equal(line[0].sequence, 3);
    assert_int_equal(line[0].kind, STREAM_BATCHED);
    assert_int_equal(line[0].lines, 0);
    assert_false(line[0].complete);
    assert_string_equal(line[1].path, ID);
    assert_int_equal(line[1].offset, 281);
    assert_int_equal(line[1].kind, STREAM_VERBATIM);
    assert_int_equal(line[1].outcome, 0);
    assert_true(line[1].complete);
}

/* Of a progress file with this text. */
static void notes_of(const char *text,
                     void (*note)(void *arg, const struct progress_note *note), void *arg)
{
    char *path = dirs_make();
    char dir[600];
    snprintf(dir, sizeof dir, "%s/.gpufl-agent", path);
    assert_int_equal(mkdir(dir, 0700), 0);
    dirs_append(dir, "progress", text);
    int root = open(path, O_RDONLY | O_DIRECTORY);
    progress_notes(&sys_real, root, note, arg);
    close(root);
    dirs_remove(path);
}

static void told_owner(void *arg, const struct progress_note *note)
{
    char *told = arg;
    size_t len = strlen(told);
    snprintf(told + len, 200 - len, "%s%c%u ", note->path, note->owned ? '=' : '?',
             note->owner);
}

static void the_owner_of_a_hold_is_told_before_it(void **state)
{
    (void)state;
    char told[200] = "";
    notes_of("gpufl-progress 1 pid=7 program=x\n!waits 9 2\n"
             "!owner a 5\n!held a device gone\n!held a scope gone\n!held b * gone\n"
             "!owner c 6\n!held d * gone\n!held c * gone\n!owner ../e 7\n"
             "!owner f\n!held f * gone\n!owner g -1 x\n!owner h 65534 later\n"
             "!held h * gone\n",
             told_owner, told);
    assert_string_equal(told, "=9 a=5 a=5 b?0 d?0 c?0 f?0 h=65534 ");
}

static void told_aside(void *arg, const struct progress_note *note)
{
    char *told = arg;
    size_t len = strlen(told);
    assert_true(note->aside == (note->text[0] == 'n') && !note->waits && !note->more);
    assert_true(!note->aside || (!note->path[0] && !note->since_s && !note->owned));
    snprintf(told + len, 200 - len, "%s;", note->text);
}

static void what_nothing_waits_for_is_told_aside(void **state)
{
    (void)state;
    char told[200] = "";
    notes_of("gpufl-progress 1 pid=7 program=x\n!trouble 5 gone\n"
             "!owner a 5\n!aside no metrics: a b\n!held a * gone\n!asides no\n",
             told_aside, told);
    assert_string_equal(told, "gone;no metrics: a b;gone;");
}

static void figures_are_those_of_the_stream_in_the_next_line(void **state)
{
    (void)state;
    struct told told =
        told_by("gpufl-progress 1 pid=7 program=x\n"
                "!lines 6 5 4 3 2 1\n" ID " device 2 10 1 1\n" ID " scope 2 10 1 1\n"
                "!lines 6 5 4 3 2 1\n"
                "not a line of a stream\n" ID " system 2 10 1 1\n"
                "!lines 6 5 4 3 2 1 and more of a later version\n" ID " host 2 10 1 1\n",
                NULL);
    assert_int_equal(told.count, 4);
    for (unsigned i = 0; i < 4; i++) {
        const struct progress_line *line = &told.line[i];
        bool has = i == 0 || i == 3;
        assert_int_equal(line->lines, has ? 6 : 0);
        assert_int_equal(line->refused_lines, has ? 5 : 0);
        assert_int_equal(line->losses, has ? 4 : 0);
        assert_int_equal(line->layout, has ? 3 : 0);
        assert_int_equal(line->marks, has ? 2 : 0);
        assert_int_equal(line->outcome, has ? 1 : 0);
        assert_int_equal(line->file, 2);
    }
}

/* A line that cannot be what was written counts as none: the figures are not told. */
static void figures_that_cannot_be_are_not_told(void **state)
{
    (void)state;
    static const struct {
        const char *figures;
        bool told;
    } row[] = {
        {"6 5 4 3 255 1", true},    {"6 5 4 3 256 1", false}, /* marks */
        {"6 5 4 99 2 1", false},                              /* layout */
        {"6 5 4 3 2 99", false},                              /* outcome */
        {"6 5 4 3 2 1x", false},                              /* a rest */
        {"6 5 4 3 2 1 done", true},                           /* … of a later version */
        {"6 5 4 3 2", false},                                 /* one is missing */
        {"-6 5 4 3 2 one", false},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        char text[300];
        snprintf(text, sizeof text,
                 "gpufl-progress 1 pid=7 program=x\n!lines %s\n" ID " device 2 10 1 1\n",
                 row[i].figures);
        struct told told = told_by(text, NULL);
        assert_int_equal(told.count, 1);
        if (told.line[0].told != row[i].told ||
            (!row[i].told && (told.line[0].lines || told.line[0].marks))) {
            fail_msg("'%s' is %stold", row[i].figures, row[i].told ? "not " : "");
        }
    }
}

/* Only the directory that the holder names has its journal: others may hold an older one.
 */
static void the_state_directory_of_the_holder_is_the_one_that_it_names(void **state)
{
    (void)state;
    char *path = dirs_make();
    char *other = dirs_make();
    int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int own = open(other, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;
    char dir[512];
    assert_int_equal(fstat(own, &st), 0);
    snprintf(dir, sizeof dir, "%s/%s", path, LAYOUT_STATE_DIR);
    assert_int_equal(mkdir(dir, 0755), 0);
    assert_false(progress_is_kept_in(&sys_real, root, own)); /* nothing is told */
    for (unsigned i = 0; i < 4; i++) {
        unsigned long long device = (unsigned long long)st.st_dev + (i == 1);
        unsigned long long inode = (unsigned long long)st.st_ino + (i == 2);
        char text[200];
        snprintf(text, sizeof text,
                 "gpufl-progress 1 pid=7 program=x origin=0000000000000001 "
                 "database=0000000000000000 state=%llx-%llx\n",
                 i == 3 ? 0 : device, i == 3 ? 0 : inode);
        snprintf(dir, sizeof dir, "%s/%s/progress", path, LAYOUT_STATE_DIR);
        unlink(dir);
        snprintf(dir, sizeof dir, "%s/%s", path, LAYOUT_STATE_DIR);
        dirs_append(dir, "progress", text);
        assert_int_equal(progress_is_kept_in(&sys_real, root, own), i == 0);
    }
    close(root);
    close(own);
    dirs_remove(path);
    dirs_remove(other);
}

/* It is complete, and its directory is still watched. */
static void a_session_in_the_file_of_others_may_be_complete(void **state)
{
    (void)state;
    struct told told =
        told_by("gpufl-progress 1 pid=7 program=x\n"
                "!lines 6 5 4 3 2 1 done quarantined=70000\n" ID " device 2 10 1 1\n" ID
                " scope 2 10 1 1\n"
                "!lines 6 5 4 3 2 1 quarantined=3 reached=4:70\n" ID " system 2 10 1 1\n",
                NULL);
    assert_int_equal(told.count, 3);
    assert_int_equal(told.line[1].reached_file, 0);
    assert_int_equal(told.line[2].reached_file, 4);
    assert_int_equal(told.line[2].reached_offset, 70);
    assert_int_equal(told.line[0].quarantined, 70000);
    assert_int_equal(told.line[1].quarantined, 0);
    assert_int_equal(told.line[2].quarantined, 3);
    assert_false(told.line[2].complete);
    assert_true(told.line[0].complete && told.line[0].told);
    assert_int_equal(told.line[0].outcome, 1);
    assert_false(told.line[1].complete || told.line[1].told);
}

/* Of each session once. */
static void the_directory_of_a_session_is_told(void **state)
{
    (void)state;
    struct told told = told_by(
        "gpufl-progress 1 pid=7 program=x\n"
        "!lines 6 5 4 3 2 1 seen=9 ends dir=fedcba9876543210:89abcdef:1001:12ab:1\n" ID
        " device 2 10 1 1\n"
        "!lines 6 5 4 3 2 1 seen=9\n" ID " scope 2 10 1 1\n"
        "!lines 6 5 4 3 2 1 dir=1:2:3:4\n" ID " system 2 10 1 1\n",
        NULL);
    const struct directory_id *id = &told.line[0].directory;
    assert_int_equal(told.count, 3);
    assert_true(id->mark == 0xfedcba9876543210 && id->boot == 0x89abcdef);
    assert_true(id->user == 1001 && id->above == 0x12ab && id->above_own);
    assert_true(told.line[0].ends && told.line[0].stamp == 9);
    for (int i = 1; i < 3; i++) {
        assert_true(told.line[i].told && !told.line[i].directory.user);
    }
}

/* A file is read in parts, which end anywhere. */
static void figures_of_a_long_file_are_read(void **state)
{
    (void)state;
    enum { STREAMS = 5000 };
    struct text text = {0};
    text_printf(&text, "gpufl-progress 1 pid=7 program=x\n");
    for (unsigned i = 0; i < STREAMS; i++) {
        text_printf(&text, "!lines 2 0 0 1 0 0\n%u device 1 3 1 1\n", i);
    }
    text_append(&text, "", 1);
    struct told told = told_by(text.data, NULL);
    assert_int_equal(told.count, STREAMS);
    assert_int_equal(told.offset, 3 * STREAMS);
    assert_int_equal(told.lines, 2 * STREAMS);
    text_fini(&text);
}

/* Of the lines that those programs read; they skip what they do not know. */
#define OLD_HEAD "gpufl-progress 1 pid=[0-9]+ program=[^ ]{1,40}( origin=[0-9a-f]{16}.*)?"
#define OLD_NAME "[A-Za-z0-9_-][A-Za-z0-9_.-]*"
#define OLD_STREAM                                                                       \
    "(" OLD_NAME "/)?" OLD_NAME " [A-Za-z0-9_-]{1,31} [1-9][0-9]* [0-9]+ [0-9]+ [012]"

static bool matches(const char *pattern, const char *line)
{
    regex_t regex;
    char whole[300];
    snprintf(whole, sizeof whole, "^%s$", pattern);
    assert_int_equal(regcomp(&regex, whole, REG_EXTENDED | REG_NOSUB), 0);
    bool matched = regexec(&regex, line, 0, NULL, 0) == 0;
    regfree(&regex);
    return matched;
}

/* \return how many streams an earlier program finds in the file. */
static unsigned check_as_earlier_programs(struct rig *rig, const char *path)
{
    unsigned streams = 0;
    char *rest;
    char *text = rig_file(rig, path);
    char *line = strtok_r(text, "\n", &rest);
    assert_true(line && matches(OLD_HEAD, line));
    while ((line = strtok_r(NULL, "\n", &rest))) {
        if (line[0] != '!' && !matches(OLD_STREAM, line)) {
            fail_msg("%s: earlier programs do not believe \"%s\"", path, line);
        }
        streams += line[0] != '!';
    }
    free(text);
    return streams;
}

/* A program that is linked with an earlier libgpufl-upload waits for what this agent
 * says. */
static void earlier_programs_believe_each_stream(void **state)
{
    (void)state;
    static struct rig rig;
    struct live_session live;
    char id[40];
    rig_open(&rig);
    ended_make(rig.root, 0, 3);
    ended_id(9, id);
    live_open(&live, rig.root, id);
    live_line(&live, "scope", "x", 1);
    live_line(&live, "device", "x", 1);
    rig_start(&rig);
    rig_run(&rig, 60000, false);
    assert_int_equal(check_as_earlier_programs(&rig, LAYOUT_PROGRESS), 2);
    assert_int_equal(check_as_earlier_programs(&rig, LAYOUT_COMPLETE), 3);
    struct told told = {.count = 0};
    assert_int_equal(
        progress_read(&sys_real, ended_root(&rig)->fd, NULL, told_add, &told), GPUFL_OK);
    assert_int_equal(told.count, 5);
    assert_int_equal(told.lines, 5);
    live_close(&live);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_an_agent_that_tells_no_figures_are_read),
        cmocka_unit_test(the_owner_of_a_hold_is_told_before_it),
        cmocka_unit_test(what_nothing_waits_for_is_told_aside),
        cmocka_unit_test(figures_are_those_of_the_stream_in_the_next_line),
        cmocka_unit_test(figures_that_cannot_be_are_not_told),
        cmocka_unit_test(the_state_directory_of_the_holder_is_the_one_that_it_names),
        cmocka_unit_test(a_session_in_the_file_of_others_may_be_complete),
        cmocka_unit_test(the_directory_of_a_session_is_told),
        cmocka_unit_test(figures_of_a_long_file_are_read),
        cmocka_unit_test(earlier_programs_believe_each_stream)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
