/* SPDX-License-Identifier: Apache-2.0 */
/* Thousands of sessions that are over: each is sent once, few are open at once, and what
 * is kept of a complete one is enough to say so, to go on, and to begin again. */
#include "tests/support/check.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema/layout.h"
#include "tests/support/dirs.h"
#include "tests/support/rig.h"
#include "upload/core/progress_file.h"
#include "upload/core/session.h"
#include "upload/engine/engine_report.h"
#include "upload/engine/wakeups.h"

#define MANY       400
#define MOST_OPEN  200 /* 64, 64 that are being completed, and two helpings of 32 */
#define DAY_MS     (24ull * 3600 * 1000)
#define NAMES      1000
#define NAME_BYTES 16

static void id_of(unsigned n, char id[40])
{
    snprintf(id, 40, "%08u-7777-4777-8777-777777777777", n);
}

static void make_sessions(const char *root, unsigned first, unsigned count)
{
    for (unsigned n = first; n < first + count; n++) {
        struct live_session live;
        char id[40];
        id_of(n, id);
        live_open(&live, root, id);
        live_line(&live, "scope", "x", 1);
        live_close(&live);
    }
}

static struct root *root_of(const struct rig *rig)
{
    return rig->engine->root[0];
}

static unsigned requests_of(const struct rig *rig, enum transport_kind kind)
{
    unsigned count = 0;
    for (unsigned i = 0; i < rig->requests; i++) {
        count += rig->request[i].kind == kind && rig->request[i].status == 200;
    }
    return count;
}

static int note_open(struct rig *rig, const struct rig_request *request)
{
    int open = (int)root_of(rig)->by_path.count;
    (void)request;
    rig->mark = open > rig->mark ? open : rig->mark;
    return RIG_REGISTRY;
}

static void many_ended_sessions_are_opened_as_there_is_room(void **state)
{
    (void)state;
    static struct rig rig;
    rig_open(&rig);
    make_sessions(rig.root, 0, MANY);
    rig.answer = note_open;
    rig.config.max_requests_per_second = 50;
    rig.config.rescan_interval_ms = DAY_MS;
    rig_start(&rig);
    uint64_t start_ms = rig_now_ms();
    rig_run(&rig, DAY_MS, true);
    assert_true(rig_now_ms() - start_ms < 2 * MANY * 1000 / 50 + 1000); /* none is late */
    assert_int_equal(requests_of(&rig, TRANSPORT_BATCH), MANY);
    assert_int_equal(requests_of(&rig, TRANSPORT_COMPLETE), MANY);
    assert_true(rig.mark <= MOST_OPEN);
    assert_int_equal(root_of(&rig)->by_path.count, 0);
    struct engine_summary summary;
    engine_summary(rig.engine, &summary);
    assert_int_equal(summary.sessions_done, MANY);
    assert_int_equal(summary.sessions, MANY);
    rig_close(&rig);
}

/* Not even where only the request limit is waited for. */
static void the_next_ones_turn_comes_with_the_next_request(void **state)
{
    (void)state;
    static struct rig rig;
    rig_open(&rig);
    make_sessions(rig.root, 0, MANY);
    rig.config.max_requests_per_second = 50;
    rig.config.rescan_interval_ms = DAY_MS;
    rig.config.ack_only = true;
    rig_start(&rig);
    uint64_t start_ms = rig_now_ms();
    rig_run(&rig, DAY_MS, true);
    assert_true(rig_now_ms() - start_ms < MANY * 1000 / 50 + 1000);
    assert_int_equal(requests_of(&rig, TRANSPORT_BATCH), MANY);
    rig_close(&rig);
}

/* The origin refuses the key: nothing moves, yet it is known that something waits. */
static int refuse(struct rig *rig, const struct rig_request *request)
{
    (void)rig;
    return request->kind == TRANSPORT_BATCH ? 401 : RIG_REGISTRY;
}

static void what_waits_for_its_turn_is_not_drained(void **state)
{
    (void)state;
    static struct rig rig;
    struct engine_summary summary;
    rig_open(&rig);
    make_sessions(rig.root, 0, MANY);
    rig.answer = refuse;
    rig_start(&rig);
    rig_run(&rig, 60000, false);
    assert_false(engine_drained(rig.engine));
    engine_summary(rig.engine, &summary);
    assert_true(summary.streams_pending >= MANY);
    assert_true(rig.loops < 2000); /* it does not spin */
    char id[40];
    char path[700];
    const struct parked_session *waits = root_of(&rig)->parked.waiting;
    assert_non_null(waits);
    snprintf(id, sizeof id, "%s", waits->node.path);
    engine_touch(rig.engine, 0, id); /* something happens in one: it is looked at */
    assert_null(parked_find(&root_of(&rig)->parked, id));
    assert_non_null(session_find(root_of(&rig), id));
    snprintf(id, sizeof id, "%s", root_of(&rig)->parked.waiting->node.path);
    snprintf(path, sizeof path, "%s/%s", rig.root, id);
    dirs_remove(strdup(path));
    rig_run(&rig, 20000, false);
    assert_null(parked_find(&root_of(&rig)->parked, id));
    rig_close(&rig);
}

static void move(const char *root, const char *from, const char *to)
{
    char a[700];
    char b[700];
    snprintf(a, sizeof a, "%s/%s", root, from);
    snprintf(b, sizeof b, "%s/%s", root, to);
    assert_int_equal(rename(a, b), 0);
}

struct told {
    unsigned lines;
    uint64_t offset;
};

static void count_line(void *arg, const struct progress_line *line)
{
    struct told *told = arg;
    told->lines++;
    told->offset += line->offset;
}

static unsigned told_of(const struct rig *rig)
{
    struct told told = {0, 0};
    assert_int_equal(progress_read(&sys_real, root_of(rig)->fd, count_line, &told),
                     GPUFL_OK);
    return told.lines;
}

/* A mount that goes and comes back, with the agent running, and restarted after it. */
static void a_complete_session_that_comes_back_is_not_sent_again(void **state)
{
    (void)state;
    static struct rig rig;
    char id[40];
    id_of(0, id);
    rig_open(&rig);
    make_sessions(rig.root, 0, 2);
    rig_start(&rig);
    rig_run(&rig, 60000, true);
    unsigned sent = rig.requests;
    const struct parked_session *parked_session = parked_find(&root_of(&rig)->parked, id);
    assert_true(parked_session && parked_session->complete && !parked_session->gone);
    move(rig.root, id, ".elsewhere");
    rig_run(&rig, 20000, false);
    assert_true(parked_session->gone);
    assert_int_equal(told_of(&rig),
                     1); /* others hear that it went, and that it is back */
    move(rig.root, ".elsewhere", id);
    rig_run(&rig, 20000, false);
    assert_false(parked_session->gone);
    assert_int_equal(told_of(&rig), 2);
    rig_stop(&rig);
    rig_start(&rig);
    rig_run(&rig, 20000, false);
    assert_int_equal(rig.requests - sent, 1); /* the question after the version */
    move(rig.root, id, ".elsewhere");
    rig_run(&rig, 2 * DAY_MS, false);
    assert_null(parked_find(&root_of(&rig)->parked, id)); /* it never comes back */
    id_of(1, id);
    assert_non_null(parked_find(&root_of(&rig)->parked, id));
    rig_close(&rig);
}

static void what_is_kept_of_it_is_enough_to_begin_again(void **state)
{
    (void)state;
    static struct rig rig;
    char id[40];
    id_of(0, id);
    rig_open(&rig);
    make_sessions(rig.root, 0, 1);
    rig_start(&rig);
    rig_run(&rig, 60000, true);
    rig_stop(&rig);
    rig.config.force = true;
    rig_start(&rig);
    rig_run(&rig, 60000, true);
    assert_int_equal(requests_of(&rig, TRANSPORT_BATCH), 2);
    assert_int_equal(requests_of(&rig, TRANSPORT_COMPLETE), 2);
    for (unsigned i = 0; i < rig.requests; i++) {
        if (rig.request[i].kind == TRANSPORT_BATCH) {
            assert_int_equal(rig.request[i].sequence,
                             ++rig.mark); /* none is used twice */
        }
    }
    rig_close(&rig);
}

/* ---- what others are told ---- */

static void others_are_told_of_complete_sessions_in_a_file_of_their_own(void **state)
{
    (void)state;
    static struct rig rig;
    struct live_session live;
    struct stat before;
    struct stat after;
    struct told told = {0, 0};
    char id[40];
    char path[700];
    rig_open(&rig);
    make_sessions(rig.root, 0, 3);
    rig_start(&rig);
    rig_run(&rig, 60000, true);
    rig_run(&rig, 5000, false);
    snprintf(path, sizeof path, "%s/%s", rig.root, LAYOUT_COMPLETE);
    assert_int_equal(stat(path, &before), 0);
    id_of(9, id);
    live_open(&live, rig.root, id);
    live_line(&live, "scope", "x", 1);
    rig_run(&rig, 20000, false); /* a line of another session: that file stays */
    assert_int_equal(stat(path, &after), 0);
    assert_true(before.st_ino == after.st_ino);
    assert_int_equal(progress_read(&sys_real, root_of(&rig)->fd, count_line, &told),
                     GPUFL_OK);
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
    make_sessions(rig.root, 0, 3);
    rig_start(&rig);
    rig_run(&rig, 30000, false);
    make_sessions(rig.root, 3, 2);
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
    make_sessions(rig.root, 5, 1);
    rig_run(&rig, 30000, false);
    make_sessions(rig.root, 6, 1);
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
    make_sessions(rig.root, 7, 1);
    rig_run(&rig, 30000, false);
    cursor = cursor_of(&rig);
    assert_int_equal(completed_in(cursor), 8);
    json_object_put(cursor);
    assert_int_equal(unlink(path), 0);
    rig_stop(&rig);
    rig_start(&rig);
    make_sessions(rig.root, 8, 1);
    rig_run(&rig, 30000, false);
    cursor = cursor_of(&rig);
    assert_int_equal(completed_in(cursor), 9);
    json_object_put(cursor);
    rig_close(&rig);
}

static int accept(struct rig *rig, const struct rig_request *request)
{
    (void)rig;
    return request->kind == TRANSPORT_PROBE ? RIG_REGISTRY : 200;
}

/* The same id in two passes of one run is one key. */
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
        make_sessions(group, 0, 1);
    }
    rig_start(&rig);
    rig_run(&rig, 60000, false);
    char *text = rig_file(&rig, LAYOUT_UPLOAD_CURSOR);
    assert_int_equal(requests_of(&rig, TRANSPORT_COMPLETE), 2);
    char *first = strstr(text, "\"00000000-7777");
    assert_non_null(first);
    assert_null(strstr(first + 1, "\"00000000-7777"));
    free(text);
    rig_close(&rig);
}

/* ---- the table ---- */

static void count_node(void *arg, struct path_node *node)
{
    (void)node;
    ++*(unsigned *)arg;
}

static void a_table_finds_what_is_in_it(void **state)
{
    (void)state;
    static char name[NAMES][NAME_BYTES];
    static struct path_node node[NAMES];
    struct path_table table = {0};
    unsigned count = 0;
    assert_null(path_table_find(&table, "0"));
    path_table_remove(&table, &node[0]); /* which is not in it */
    for (int i = 0; i < NAMES; i++) {
        snprintf(name[i], NAME_BYTES, "%d", i);
        node[i].path = name[i];
        assert_true(path_table_add(&table, &node[i]));
    }
    for (int i = 0; i < NAMES; i += 2) {
        path_table_remove(&table, &node[i]);
    }
    for (int i = 0; i < NAMES; i++) {
        assert_ptr_equal(path_table_find(&table, name[i]), i % 2 ? &node[i] : NULL);
    }
    path_table_each(&table, count_node, &count);
    assert_int_equal(count, NAMES / 2);
    assert_int_equal(table.count, NAMES / 2);
    path_table_close(&table);
    assert_null(path_table_find(&table, "1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_ended_sessions_are_opened_as_there_is_room),
        cmocka_unit_test(the_next_ones_turn_comes_with_the_next_request),
        cmocka_unit_test(what_waits_for_its_turn_is_not_drained),
        cmocka_unit_test(a_complete_session_that_comes_back_is_not_sent_again),
        cmocka_unit_test(what_is_kept_of_it_is_enough_to_begin_again),
        cmocka_unit_test(others_are_told_of_complete_sessions_in_a_file_of_their_own),
        cmocka_unit_test(the_upload_cursor_grows_and_keeps_the_words_of_others),
        cmocka_unit_test(a_name_stands_in_the_upload_cursor_once),
        cmocka_unit_test(a_table_finds_what_is_in_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
