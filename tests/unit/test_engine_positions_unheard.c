/* SPDX-License-Identifier: Apache-2.0 */
/* The backend has noted that a line is not sent, and its sender was killed before it
 * heard that: the line is in quarantine all the same, where it can be told which one it
 * is. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/rig_session.h"
#include "upload/core/engine_state.h"
#include "upload/core/registry.h"
#include "upload/journal/journal_read.h"
#include "upload/resolve/quarantine.h"

#define LINES      10
#define MINUTES_MS (60ull * 1000)

struct unheard {
    uint32_t batch_lines;
    unsigned file; /* the line that is refused: its file, and its place there */
    unsigned line;
    bool lose; /* the journal */
};

static unsigned refused_before_said;

static void count_refused_before(void *arg, enum log_level level, const char *line)
{
    (void)arg;
    (void)level;
    refused_before_said += strstr(line, "upload.refused_before ") != NULL;
}

static const struct log counting = {.level = LOG_AT_WARN, .write = count_refused_before};

static char poison[20];

static bool is_poison(const char *raw, size_t len)
{
    return memmem(raw, len, poison, strlen(poison)) != NULL;
}

/* Nothing is heard from the first skip on. */
static int lose_from_skip(struct rig *rig, const struct rig_request *request)
{
    bool skip = request->kind == TRANSPORT_PARTS && strstr(request->raw, "\"skip\":true");
    int status = rig->mark ? 0 : skip ? RIG_LOST : RIG_REGISTRY;
    rig->mark |= skip;
    return status;
}

static int lose_parts(struct rig *rig, const struct rig_request *request)
{
    bool part = request->kind == TRANSPORT_PARTS && !rig->mark;
    rig->mark |= part;
    return part ? RIG_LOST : RIG_REGISTRY;
}

static struct stored_end *end_of(struct rig *rig)
{
    return &rig_positions_stream(&rig->positions, RIG_ID, "device")->end;
}

/* It is killed there, and what refused the line is mended. */
static struct rig *killed(struct live_session *s, const struct unheard *u)
{
    struct rig *rig = rig_positions_on(rig_new());
    rig->config.delete_acked = DELETE_ALL;
    rig->config.log = &counting;
    rig->config.max_batch_lines = u->batch_lines;
    rig->positions.poison = is_poison;
    rig->answer = lose_from_skip;
    refused_before_said = 0;
    snprintf(poison, sizeof poison, "\"n\":%u}", u->file * LINES + u->line);
    live_open(s, rig->root, RIG_ID);
    rig_start(rig);
    for (unsigned file = 1; file <= 3; file++) {
        for (unsigned i = 0; i < LINES; i++) {
            live_line(s, "device", "x", (int)(file * LINES + i));
        }
        live_rotate(s, "device", file);
        engine_rescan(rig->engine);
        rig_run(rig, MINUTES_MS, false);
    }
    assert_int_equal(rig->mark, 1);
    assert_int_equal(end_of(rig)->skips, 1);
    assert_int_equal(rig_summary(rig).ranges_quarantined, 0);
    rig_stop(rig);
    if (u->lose) {
        rig_lose_journal(rig);
    }
    rig->positions.poison = NULL;
    rig->answer = NULL;
    rig_start(rig);
    return rig;
}

static void finish(struct rig *rig, struct live_session *s)
{
    live_line(s, "device", "shutdown", 100);
    live_close(s);
    engine_rescan(rig->engine);
    rig_run(rig, 60 * MINUTES_MS, false);
    assert_int_equal(end_of(rig)->skips, 1);
}

static void assert_line_is_listed(const struct rig *rig, const struct unheard *u)
{
    struct quarantined range;
    char *data;
    size_t len;
    bool gz;
    assert_int_equal(rig_summary(rig).ranges_quarantined, 1);
    assert_true(quarantine_at(rig->engine, 0, &range));
    assert_int_equal(range.record.file, u->file);
    assert_int_equal(range.record.lines, 1);
    assert_int_equal(
        quarantine_read(&sys_real, rig->engine->root[0]->fd, &range, &data, &len, &gz),
        GPUFL_OK);
    assert_true(is_poison(data, len));
    assert_int_equal(memchr(data, '\n', len) == data + len - 1, 1);
    free(data);
}

static void a_line_whose_skip_was_not_heard_of_is_in_quarantine(void **state)
{
    (void)state;
    static const struct unheard unheard[] = {
        {.batch_lines = 100, .file = 1, .line = 5},
        {.batch_lines = 1, .file = 1, .line = 5},
        {.batch_lines = 100, .file = 2, .line = 0},
        {.batch_lines = 1, .file = 2, .line = 0},
        {.batch_lines = 100, .file = 1, .line = 9},
        {.batch_lines = 1, .file = 1, .line = 9},
        {.batch_lines = 100, .file = 1, .line = 0, .lose = true},
    };
    for (size_t i = 0; i < sizeof unheard / sizeof *unheard; i++) {
        struct live_session s;
        struct rig *rig = killed(&s, &unheard[i]);
        finish(rig, &s);
        for (int run = 0; run < 2; run++) {
            assert_line_is_listed(rig, &unheard[i]);
            assert_int_equal(refused_before_said, 0);
            assert_int_equal(end_of(rig)->at.lines, 3 * LINES + 1);
            rig_stop(rig);
            rig_start(rig);
        }
        rig_delete(rig);
    }
}

/* Which one it is of several, nothing tells. */
static void without_a_journal_it_is_said_that_there_is_one(void **state)
{
    (void)state;
    const struct unheard u = {.batch_lines = 100, .file = 1, .line = 5, .lose = true};
    struct live_session s;
    struct rig *rig = killed(&s, &u);
    finish(rig, &s);
    assert_int_equal(rig_summary(rig).ranges_quarantined, 0);
    assert_int_equal(refused_before_said, 1);
    rig_delete(rig);
}

/* A person has dropped the range: the backend counts it still, and what it has twice
 * heard of later is no other one. */
static void a_line_that_is_known_behind_one_that_was_dropped_is_sent(void **state)
{
    (void)state;
    const struct unheard u = {.batch_lines = 1, .file = 1, .line = 5};
    for (int restart = 0; restart < 2; restart++) {
        struct live_session s;
        struct quarantined range;
        struct rig *rig = killed(&s, &u);
        rig_run(rig, 10 * MINUTES_MS, false);
        assert_true(quarantine_at(rig->engine, 0, &range));
        assert_int_equal(quarantine_release(rig->engine, &range, false), GPUFL_OK);
        if (restart) {
            rig_stop(rig);
            rig_start(rig);
        }
        rig->mark = 0;
        rig->answer = lose_parts;
        live_line(&s, "device", "x", 99);
        engine_rescan(rig->engine);
        rig_run(rig, 10 * MINUTES_MS, false);
        assert_int_equal(rig->mark, 1);
        assert_int_equal(end_of(rig)->at.lines, 3 * LINES + 1);
        finish(rig, &s);
        assert_int_equal(rig_summary(rig).ranges_quarantined, 0);
        rig_delete(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_whose_skip_was_not_heard_of_is_in_quarantine),
        cmocka_unit_test(without_a_journal_it_is_said_that_there_is_one),
        cmocka_unit_test(a_line_that_is_known_behind_one_that_was_dropped_is_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
