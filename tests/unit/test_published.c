/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine publishes for others: the progress files and the upload cursor. */
#include "tests/support/check.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json_text.h"
#include "schema/layout.h"
#include "tests/support/dirs.h"
#include "tests/support/ended_sessions.h"
#include "tests/support/rig.h"

static void others_are_told_of_complete_sessions_in_a_file_of_their_own(void **state)
{
    (void)state;
    static struct rig rig;
    struct live_session live;
    struct stat before;
    struct stat after;
    char id[40];
    char path[700];
    rig_open(&rig);
    ended_make(rig.root, 0, 3);
    rig_start(&rig);
    rig_run(&rig, 60000, true);
    rig_run(&rig, 5000, false);
    snprintf(path, sizeof path, "%s/%s", rig.root, LAYOUT_COMPLETE);
    assert_int_equal(stat(path, &before), 0);
    ended_id(9, id);
    live_open(&live, rig.root, id);
    live_line(&live, "scope", "x", 1);
    rig_run(&rig, 20000, false); /* a line of another session: that file stays */
    assert_int_equal(stat(path, &after), 0);
    assert_true(before.st_ino == after.st_ino);
    struct ended_told told = ended_told_of(&rig);
    assert_int_equal(told.lines, 4);
    assert_true(told.offset > 0);
    live_close(&live);
    rig_close(&rig);
}

static struct json_object *cursor_of(const struct rig *rig)
{
    char path[700];
    snprintf(path, sizeof path, "%s/%s", rig->root, LAYOUT_UPLOAD_CURSOR);
    struct json_object *cursor = json_object_from_file(path);
    assert_non_null(cursor);
    return cursor;
}

static unsigned completed_in(struct json_object *cursor)
{
    struct json_object *completed;
    assert_true(json_object_object_get_ex(cursor, "completed_sessions", &completed));
    return (unsigned)json_object_object_length(completed);
}

static void the_upload_cursor_grows_and_keeps_the_words_of_others(void **state)
{
    (void)state;
    static struct rig rig;
    char path[700];
    rig_open(&rig);
    ended_make(rig.root, 0, 3);
    rig_start(&rig);
    rig_run(&rig, 30000, false);
    ended_make(rig.root, 3, 2);
    rig_run(&rig, 30000, false);
    struct json_object *cursor = cursor_of(&rig);
    assert_int_equal(completed_in(cursor), 5);
    /* Another tool writes, with its own order, words and sessions. */
    struct json_object *files;
    assert_true(json_object_object_get_ex(cursor, "uploaded_files", &files));
    json_object_array_add(files, json_object_new_string("x.log"));
    json_object_object_add(cursor, "later", json_object_new_object());
    snprintf(path, sizeof path, "%s/%s", rig.root, LAYOUT_UPLOAD_CURSOR);
    assert_int_equal(json_object_to_file_ext(path, cursor, JSON_C_TO_STRING_PRETTY), 0);
    json_object_put(cursor);
    ended_make(rig.root, 5, 1);
    rig_run(&rig, 30000, false);
    ended_make(rig.root, 6, 1);
    rig_run(&rig, 30000, false);
    cursor = cursor_of(&rig);
    assert_int_equal(completed_in(cursor), 7);
    assert_true(json_object_object_get_ex(cursor, "uploaded_files", &files));
    assert_int_equal(json_object_array_length(files), 1);
    assert_true(json_object_object_get_ex(cursor, "later", NULL));
    json_object_put(cursor);
    /* It is empty, or gone: all are named again, and by a new process, too. */
    rig_stop(&rig);
    assert_int_equal(truncate(path, 0), 0);
    rig_start(&rig);
    ended_make(rig.root, 7, 1);
    rig_run(&rig, 30000, false);
    cursor = cursor_of(&rig);
    assert_int_equal(completed_in(cursor), 8);
    json_object_put(cursor);
    assert_int_equal(unlink(path), 0);
    rig_stop(&rig);
    rig_start(&rig);
    ended_make(rig.root, 8, 1);
    rig_run(&rig, 30000, false);
    cursor = cursor_of(&rig);
    assert_int_equal(completed_in(cursor), 9);
    json_object_put(cursor);
    /* What is not JSON, but read by json-c, is not written again. */
    assert_int_equal(truncate(path, 0), 0);
    dirs_append(rig.root, LAYOUT_UPLOAD_CURSOR, "{\"theirs\":[0.]}");
    ended_make(rig.root, 9, 1);
    rig_run(&rig, 30000, false);
    char *text = rig_file(&rig, LAYOUT_UPLOAD_CURSOR);
    assert_true(json_is_object(text, strlen(text), 64));
    free(text);
    rig_close(&rig);
}

static int accept(struct rig *rig, const struct rig_request *request)
{
    (void)rig;
    return request->kind == TRANSPORT_PROBE ? RIG_REGISTRY : 200;
}

/* The second directory of that id is held, and is no second key. */
static void a_name_stands_in_the_upload_cursor_once(void **state)
{
    (void)state;
    static struct rig rig;
    char group[600];
    rig_open(&rig);
    rig.answer = accept; /* no registry, which would refuse the second */
    for (int pass = 1; pass <= 2; pass++) {
        snprintf(group, sizeof group, "%s/pass-%d", rig.root, pass);
        assert_int_equal(mkdir(group, 0755), 0);
        ended_make(group, 0, 1);
    }
    rig_start(&rig);
    rig_run(&rig, 60000, false);
    char *text = rig_file(&rig, LAYOUT_UPLOAD_CURSOR);
    assert_int_equal(ended_requests(&rig, TRANSPORT_COMPLETE), 1);
    char *first = strstr(text, "\"00000000-7777");
    assert_non_null(first);
    assert_null(strstr(first + 1, "\"00000000-7777"));
    free(text);
    rig_close(&rig);
}

/* As in a directory in which every user may create files. \return the state directory. */
static char *rig_with_another_user(struct rig *rig)
{
    char dir[700];
    char fifo[800];
    char *state_dir = dirs_make();
    rig_open(rig);
    rig->config.state_dir = state_dir;
    assert_int_equal(chmod(rig->root, 03777), 0);
    snprintf(dir, sizeof dir, "%s/%s", rig->root, LAYOUT_STATE_DIR);
    assert_int_equal(mkdir(dir, 0777), 0);
    assert_int_equal(chmod(dir, 0777), 0);
    snprintf(fifo, sizeof fifo, "%s/progress.tmp", dir);
    assert_int_equal(mkfifo(fifo, 0666), 0);
    snprintf(fifo, sizeof fifo, "%s/complete.tmp", dir);
    assert_int_equal(mkfifo(fifo, 0666), 0);
    snprintf(fifo, sizeof fifo, "%s/%s.tmp", rig->root, LAYOUT_UPLOAD_CURSOR);
    assert_int_equal(mkfifo(fifo, 0666), 0);
    return state_dir;
}

static void what_another_user_plants_blocks_nothing(void **state)
{
    (void)state;
    static struct rig rig;
    char path[700];
    struct stat st;
    char *state_dir = rig_with_another_user(&rig);
    alarm(30); /* an open that blocks would do so for ever */
    ended_make(rig.root, 0, 3);
    rig_start(&rig);
    rig_run(&rig, 60000, false);
    alarm(0);
    assert_int_equal(ended_requests(&rig, TRANSPORT_COMPLETE), 3);
    static const char *const unwritten[] = {LAYOUT_PROGRESS, LAYOUT_COMPLETE,
                                            LAYOUT_UPLOAD_CURSOR};
    for (size_t i = 0; i < sizeof unwritten / sizeof unwritten[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", rig.root, unwritten[i]);
        assert_int_equal(lstat(path, &st), -1);
    }
    rig_close(&rig);
    dirs_remove(state_dir);
}

/* Overwritten, what it says would be lost for the tool that wrote it. */
static void the_upload_cursor_of_another_user_is_left_alone(void **state)
{
    (void)state;
    static struct rig rig;
    char path[700];
    if (geteuid() != 0) {
        skip();
    }
    rig_open(&rig);
    dirs_append(rig.root, LAYOUT_UPLOAD_CURSOR, "{}");
    snprintf(path, sizeof path, "%s/%s", rig.root, LAYOUT_UPLOAD_CURSOR);
    assert_int_equal(chown(path, 12345, 12345), 0);
    ended_make(rig.root, 0, 1);
    rig_start(&rig);
    rig_run(&rig, 60000, false);
    assert_int_equal(ended_requests(&rig, TRANSPORT_COMPLETE), 1);
    char *text = rig_file(&rig, LAYOUT_UPLOAD_CURSOR);
    assert_string_equal(text, "{}");
    free(text);
    rig_close(&rig);
}

static void progress_is_published_again_once_it_can_be_written(void **state)
{
    (void)state;
    static struct rig rig;
    char *state_dir = rig_with_another_user(&rig);
    char path[700];
    ended_make(rig.root, 0, 1);
    rig_start(&rig);
    rig_run(&rig, 30000, false);
    snprintf(path, sizeof path, "%s/%s", rig.root, LAYOUT_STATE_DIR);
    assert_int_equal(chmod(path, 0755), 0); /* a person put it right */
    ended_make(rig.root, 1, 1);
    rig_run(&rig, 30000, false);
    assert_int_equal(ended_told_of(&rig).lines, 2);
    rig_close(&rig);
    dirs_remove(state_dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(others_are_told_of_complete_sessions_in_a_file_of_their_own),
        cmocka_unit_test(the_upload_cursor_grows_and_keeps_the_words_of_others),
        cmocka_unit_test(a_name_stands_in_the_upload_cursor_once),
        cmocka_unit_test(what_another_user_plants_blocks_nothing),
        cmocka_unit_test(the_upload_cursor_of_another_user_is_left_alone),
        cmocka_unit_test(progress_is_published_again_once_it_can_be_written)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
