/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed files that take long to decode: each turn of the engine goes on a little, so
 * that others have theirs, and in the end all is sent. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/gz_costly.h"
#include "tests/support/rig_backend.h"
#include "tests/support/rig_session.h"
#include "upload/core/engine_state.h"

/* 7 KiB for each line: as much as five turns decode. */
#define LINES         12000u
#define GROUPS        2u
#define TURN_MAX      (3 * GZ_CACHE_STEP_BYTES)
#define WORK_AT_LEAST ((uint64_t)LINES * GROUPS * GZ_COSTLY_GROUP_BYTES * 32)

static char packed_line[128];

static void packed_make(const struct live_session *s, const char *name)
{
    snprintf(packed_line, sizeof packed_line,
             "{\"type\":\"job_start\",\"session_id\":\"%s\"}\n", s->id);
    gz_costly_make(s->dir, name, packed_line, LINES, GROUPS);
}

static bool packed_positions_on;
static bool packed_was_held;

/* Its writer has ended; its only other file holds the last line. */
static struct rig *packed_new(struct live_session *s, bool positions)
{
    struct rig *rig = rig_new();
    if (positions) {
        rig_positions_on(rig);
    }
    packed_positions_on = positions;
    packed_was_held = false;
    rig->answer_ms =
        10; /* else each round of a turn has an answer, and another follows */
    live_open(s, rig->root, RIG_ID);
    packed_make(s, "device.1.log.gz");
    dirs_append(s->dir, "device.log", "{\"type\":\"shutdown\"}\n");
    live_close(s);
    return rig;
}

/* \return how many turns have decoded something. */
static unsigned packed_run(struct rig *rig, uint64_t ms)
{
    unsigned turns = 0;
    uint64_t end_ms = rig_now_ms() + ms;
    while (rig_now_ms() < end_ms) {
        uint64_t before = rig->engine->gz.work;
        rig_run(rig, 0, false);
        uint64_t work = rig->engine->gz.work - before;
        assert_true(work < TURN_MAX);
        turns += work > GZ_CACHE_STEP_BYTES / 8;
        packed_was_held = packed_was_held || rig_summary(rig).sessions_blocked > 0;
        rig_advance_ms(20);
    }
    return turns;
}

static void packed_is_stored(struct rig *rig)
{
    const size_t line = strlen(packed_line);
    char *stored = packed_positions_on ? NULL : rig_stored(rig, RIG_ID, "device");
    const char *raw = stored;
    if (packed_positions_on) {
        raw = rig_positions_stream(&rig->positions, RIG_ID, "device")->raw;
    }
    assert_non_null(raw);
    for (unsigned i = 0; i < LINES; i++) {
        assert_memory_equal(raw + i * line, packed_line, line);
    }
    assert_memory_equal(raw + LINES * line, "{\"type\":\"shutdown\"}\n", 20);
    free(stored);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    assert_int_equal(rig_summary(rig).sessions_blocked, 0);
}

static void what_takes_long_to_decode_is_sent_in_parts(void **state)
{
    (void)state;
    for (int positions = 0; positions < 2; positions++) {
        struct live_session s;
        struct rig *rig = packed_new(&s, positions);
        rig_start(rig);
        packed_run(rig, 20000);
        assert_true(rig->engine->gz.work > WORK_AT_LEAST);
        packed_is_stored(rig);
        rig_delete(rig);
    }
}

static unsigned silent_from;
static int silent_later(struct rig *rig, const struct rig_request *r)
{
    silent_from -= r->kind == TRANSPORT_BATCH && silent_from > 0;
    rig->silent = silent_from == 0;
    return RIG_REGISTRY;
}

/* After a restart, the decoder begins anew. */
static void a_batch_far_into_a_file_is_read_again_in_steps(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = packed_new(&s, false);
    rig->answer = silent_later;
    silent_from = 10;
    rig_start(rig);
    packed_run(rig, 20000);
    assert_int_equal(silent_from, 0);
    unsigned sent = rig->requests;
    rig_stop(rig);
    rig->answer = NULL;
    rig->silent = false;
    rig_start(rig);
    assert_true(packed_run(rig, 20000) > 4);
    packed_is_stored(rig);
    bool repeated = false;
    for (unsigned i = sent; i < rig->requests; i++) {
        repeated = repeated || strcmp(rig->request[i].id, rig->request[sent - 1].id) == 0;
    }
    assert_true(repeated);
    rig_delete(rig);
}

/* The decoders are lost to others, so each half is looked for from the begin. */
static int splits_far_on(struct rig *rig, const struct rig_request *r)
{
    if (r->kind != TRANSPORT_BATCH || r->lines <= 600 || rig->mark >= 8) {
        return RIG_REGISTRY;
    }
    rig->mark++;
    gz_cache_close(&rig->engine->gz);
    return 413;
}

static void a_batch_far_into_a_file_is_split_in_steps(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = packed_new(&s, false);
    rig->answer = splits_far_on;
    rig_start(rig);
    packed_run(rig, 60000);
    assert_int_equal(rig->mark, 8);
    assert_false(packed_was_held);
    packed_is_stored(rig);
    rig_delete(rig);
}

static void an_end_far_into_a_file_is_proved_in_steps(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = packed_new(&s, true);
    rig_start(rig);
    packed_run(rig, 20000);
    rig_stop(rig);
    rig_lose_journal(rig);
    unsigned parts = rig_count(rig, TRANSPORT_PARTS);
    rig_start(rig);
    assert_true(packed_run(rig, 200) > 2);
    gz_cache_close(&rig->engine->gz); /* somebody else took the decoder */
    assert_true(packed_run(rig, 20000) > 4);
    packed_is_stored(rig);
    assert_false(packed_was_held);
    assert_int_equal(rig_count(rig, TRANSPORT_PARTS), parts);
    rig_delete(rig);
}

/* What is damaged stays so until it changes. */
static void a_damaged_file_is_decoded_once(void **state)
{
    (void)state;
    struct live_session s;
    char path[600];
    struct rig *rig = packed_new(&s, false);
    snprintf(path, sizeof path, "%s/device.1.log.gz", s.dir);
    assert_int_equal(truncate(path, LINES * GROUPS * GZ_COSTLY_GROUP_BYTES), 0);
    rig_start(rig);
    packed_run(rig, 20000);
    assert_int_equal(rig_summary(rig).sessions_blocked, 1);
    uint64_t lines = rig_summary(rig).lines_acked;
    assert_in_range(lines, LINES / 2, LINES - 1);
    uint64_t work = rig->engine->gz.work;
    for (int i = 0; i < 10; i++) {
        packed_run(rig, 70000);
        engine_touch(rig->engine, 0, RIG_ID);
    }
    assert_int_equal(rig->engine->gz.work, work);
    packed_make(&s, "device.1.log.gz");
    packed_run(rig, 90000);
    packed_is_stored(rig);
    rig_delete(rig);
}

#define NAMES         6000
#define STEP_OF_NAMES (1u << 20)

static unsigned packed_said;
static void packed_log(void *arg, enum log_level level, const char *line)
{
    (void)arg;
    (void)level;
    packed_said += strstr(line, " session.held ") != NULL;
}

static const struct log packed_counting = {.level = LOG_AT_WARN, .write = packed_log};

static unsigned packed_listings;
static int counting_open_beneath(int root, const char *path, int flags, mode_t mode)
{
    packed_listings += flags == (O_RDONLY | O_DIRECTORY);
    return sys_real.open_beneath(root, path, flags, mode);
}

/* A file that became shorter, and very many after it: one of them may hold what was sent,
 * and whether one does is found out by a listing and a half, in all turns together. */
static struct rig *packed_search(struct live_session *s)
{
    static struct sys sys;
    char name[600];
    char first[600];
    char active[600];
    struct rig *rig = rig_new();
    packed_said = 0;
    rig->config.log = &packed_counting;
    live_open(s, rig->root, RIG_ID);
    for (int i = 0; i < 200; i++) {
        live_line(s, "device", "x", i);
    }
    sys = *rig->config.sys;
    sys.open_beneath = counting_open_beneath;
    rig->config.sys = &sys;
    rig_start(rig);
    rig_run(rig, 10000, false);
    assert_int_equal(rig_summary(rig).lines_acked, 200);
    snprintf(active, sizeof active, "%s/device.log", s->dir);
    snprintf(first, sizeof first, "%s/device.2.log", s->dir);
    dirs_append(s->dir, "device.2.log", "{\"type\":\"x\"}\n");
    assert_int_equal(truncate(first, 100000), 0);
    for (int i = 3; i < NAMES; i++) {
        snprintf(name, sizeof name, "%s/device.%d.log", s->dir, i);
        assert_int_equal(link(first, name), 0);
    }
    snprintf(name, sizeof name, "%s/device.1.log", s->dir);
    assert_int_equal(truncate(active, 100), 0);
    assert_int_equal(rename(active, name), 0);
    rig->engine->gz.step_bytes = STEP_OF_NAMES;
    packed_listings = 0;
    for (int i = 0; i < 2000 && rig_summary(rig).sessions_blocked == 0; i++) {
        rig_run(rig, 10, false);
    }
    assert_int_equal(rig_summary(rig).sessions_blocked, 1);
    return rig;
}

static void a_search_among_many_names_lists_them_once(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = packed_search(&s);
    /* Inspections list it, too, and so does the writer's lock. */
    assert_true(packed_listings < 3 * NAMES / 1024 + 20);
    live_close(&s);
    rig_delete(rig);
}

static void what_is_searched_again_in_steps_is_said_once(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = packed_search(&s);
    for (int i = 0; i < 3; i++) {
        live_line(&s, "scope", "x", i);
        engine_touch(rig->engine, 0, RIG_ID);
        rig_run(rig, 90000, false);
    }
    assert_int_equal(rig_summary(rig).sessions_blocked, 1);
    assert_int_equal(packed_said, 1);
    live_close(&s);
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_takes_long_to_decode_is_sent_in_parts),
        cmocka_unit_test(a_batch_far_into_a_file_is_read_again_in_steps),
        cmocka_unit_test(a_batch_far_into_a_file_is_split_in_steps),
        cmocka_unit_test(an_end_far_into_a_file_is_proved_in_steps),
        cmocka_unit_test(a_damaged_file_is_decoded_once),
        cmocka_unit_test(a_search_among_many_names_lists_them_once),
        cmocka_unit_test(what_is_searched_again_in_steps_is_said_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
