/* SPDX-License-Identifier: Apache-2.0 */
/* One user may have so many ranges in quarantine: then the channel is held, and goes on
 * once some have left. Other users have room of their own. */
#include "tests/support/check.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/ended_sessions.h"
#include "tests/support/rig_session.h"
#include "upload/core/session.h"
#include "upload/core/stream.h"
#include "upload/resolve/quarantine.h"
#include "upload/resolve/resolve.h"

#define LIMIT  8u
#define OF_ONE 4u /* of one owner alone, see base/shares.h */
#define RANGES 11u
#define OTHER  12345u

/* A session that is over, of files that each hold half a line, but for the last one. */
static void plant_torn(struct rig *rig, const char *id, struct live_session *s,
                       unsigned files)
{
    live_open(s, rig->root, id);
    for (unsigned i = 1; i <= files; i++) {
        char name[32];
        snprintf(name, sizeof name, "device.%u.log", i);
        dirs_append(s->dir, name, "{");
    }
    live_line(s, "device", "shutdown", 99);
    live_close(s);
}

static struct rig *limited_rig(void)
{
    struct rig *rig = rig_new();
    rig->config.quarantine_ranges = LIMIT;
    return rig;
}

static void start_and_run(struct rig *rig)
{
    rig_start(rig);
    rig_run(rig, 600000, false);
}

static void again(struct rig *rig)
{
    rig_stop(rig);
    start_and_run(rig);
}

static const struct stream *stream_named(const struct rig *rig, const char *channel)
{
    const struct session *session = session_find(ended_root(rig), RIG_ID);
    assert_non_null(session);
    for (unsigned i = 0; i < session->streams; i++) {
        if (strcmp(stream_channel(session->stream[i]), channel) == 0) {
            return session->stream[i];
        }
    }
    fail();
    return NULL;
}

static void is_held(const struct rig *rig, const char *channel, uint64_t ranges)
{
    struct engine_summary summary = rig_summary(rig);
    assert_int_equal(summary.ranges_quarantined, ranges);
    assert_int_equal(summary.sessions_done, 0);
    assert_int_equal(summary.sessions_kept_back, 1);
    assert_non_null(strstr(summary.held, held_text(HELD_QUARANTINE_FULL)));
    assert_true(stream_hold_stands(stream_named(rig, channel)));
}

/* As `gpufl quarantine drop --all`. \return how many there were. */
static unsigned drop_all(const struct rig *rig)
{
    struct quarantined range;
    unsigned dropped = 0;
    while (quarantine_at(rig->engine, 0, &range)) {
        assert_int_equal(quarantine_release(rig->engine, &range, false), GPUFL_OK);
        dropped++;
    }
    return dropped;
}

/* … until all sessions are complete. */
static unsigned drop_until_done(struct rig *rig, unsigned sessions)
{
    unsigned dropped = 0;
    for (unsigned i = 0; i < 10; i++) {
        dropped += drop_all(rig);
        rig_run(rig, 600000, false);
    }
    assert_int_equal(rig_summary(rig).sessions_done, sessions);
    assert_int_equal(rig_summary(rig).sessions_kept_back, 0);
    return dropped;
}

static void what_is_beyond_the_limit_is_held_and_goes_on(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++) {
        struct rig *rig = limited_rig();
        struct live_session s;
        plant_torn(rig, RIG_ID, &s, RANGES);
        start_and_run(rig);
        is_held(rig, "device", OF_ONE);
        assert_int_equal(stream_named(rig, "device")->file, OF_ONE + 1);
        if (restart) {
            again(rig);
            is_held(rig, "device", OF_ONE);
        }
        assert_int_equal(drop_until_done(rig, 1), RANGES);
        rig_delete(rig);
    }
}

static void a_journal_that_has_more_than_the_limit_keeps_them(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s[2];
    plant_torn(rig, RIG_ID2, &s[1], RANGES);
    start_and_run(rig);
    assert_int_equal(rig_summary(rig).ranges_quarantined, RANGES);
    rig_stop(rig);
    rig->config.quarantine_ranges = LIMIT;
    plant_torn(rig, RIG_ID, &s[0], 1);
    start_and_run(rig);
    is_held(rig, "device", RANGES);
    assert_int_equal(drop_until_done(rig, 2), RANGES + 1);
    rig_delete(rig);
}

static void another_user_has_room_of_his_own(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip(); /* several owners */
    }
    struct rig *rig = limited_rig();
    struct live_session s[2];
    plant_torn(rig, RIG_ID, &s[0], RANGES);
    assert_int_equal(chown(s[0].dir, OTHER, OTHER), 0);
    start_and_run(rig);
    is_held(rig, "device", OF_ONE);
    plant_torn(rig, RIG_ID2, &s[1], 1);
    rig_run(rig, 600000, false);
    is_held(rig, "device", OF_ONE + 1);
    again(rig); /* whose each is, is known again */
    is_held(rig, "device", OF_ONE + 1);
    rig_delete(rig);
}

static void a_session_that_is_forgotten_leaves_room(void **state)
{
    (void)state;
    struct rig *rig = limited_rig();
    struct resolve_result result;
    struct live_session s[2];
    char moved[600];
    plant_torn(rig, RIG_ID2, &s[1], OF_ONE);
    start_and_run(rig);
    plant_torn(rig, RIG_ID, &s[0], 1);
    rig_run(rig, 600000, false);
    is_held(rig, "device", OF_ONE);
    snprintf(moved, sizeof moved, "%s/.moved", rig->root);
    assert_int_equal(rename(s[1].dir, moved), 0);
    rig_run(rig, 600000, false);
    resolve_in_first_root(rig->engine, RIG_ID2, NULL, &result);
    assert_ptr_equal(strstr(result.text, "forgotten"), result.text);
    rig_run(rig, 600000, false);
    assert_int_equal(rig_summary(rig).ranges_quarantined, 1);
    assert_false(stream_hold_stands(stream_named(rig, "device")));
    rig_delete(rig);
}

static bool is_poison(const char *raw, size_t len)
{
    return memmem(raw, len, "\"poison\"", 8) != NULL;
}

static int refuse_poison(struct rig *rig, const struct rig_request *r)
{
    (void)rig;
    return r->kind == TRANSPORT_BATCH && is_poison(r->raw, r->raw_len) ? 400
                                                                       : RIG_REGISTRY;
}

/* Each other line is refused. */
static void plant_poison(struct rig *rig, struct live_session *s)
{
    live_open(s, rig->root, RIG_ID);
    live_line(s, "scope", "job_start", 0);
    for (int i = 0; i < (int)RANGES; i++) {
        live_line(s, "scope", "poison", i);
        live_line(s, "scope", "x", i);
    }
    live_line(s, "scope", "shutdown", 99);
    live_close(s);
}

static void lines_that_are_refused_wait_for_room(void **state)
{
    (void)state;
    for (int positions = 0; positions < 2; positions++) {
        struct rig *rig = limited_rig();
        struct live_session s;
        rig = positions ? rig_positions_on(rig) : rig;
        rig->answer = refuse_poison;
        rig->positions.poison = is_poison;
        plant_poison(rig, &s);
        start_and_run(rig);
        is_held(rig, "scope", OF_ONE);
        assert_int_equal(rig_summary(rig).lines_acked, 1 + OF_ONE);
        unsigned requests = rig->requests;
        rig_run(rig, 600000, false);
        assert_in_range(rig->requests, requests, requests + 120);
        again(rig);
        is_held(rig, "scope", OF_ONE);
        rig->positions.poison = NULL; /* they are taken after all */
        rig->answer = NULL;
        unsigned dropped = drop_all(rig);
        rig_run(rig, 600000, false);
        assert_int_equal(dropped + drop_all(rig), OF_ONE);
        assert_string_equal(rig_summary(rig).held, "");
        assert_int_equal(rig_summary(rig).ranges_quarantined, 0);
        assert_int_equal(rig_summary(rig).sessions_done, 1);
        rig_delete(rig);
    }
}

static void thousands_of_torn_files_are_passed_in_several_turns(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    plant_torn(rig, RIG_ID, &s, 2000);
    rig_start(rig);
    unsigned passed = 1;
    unsigned most = 0;
    for (unsigned i = 0; i < 5000 && passed < 2000; i++) {
        unsigned loops = rig->loops;
        rig_run(rig, 1, false);
        const struct session *session = session_find(ended_root(rig), RIG_ID);
        unsigned now = session && session->streams ? session->stream[0]->file : 1;
        unsigned a_turn = (now - passed) / (rig->loops - loops);
        most = a_turn > most ? a_turn : most;
        passed = now;
    }
    assert_in_range(passed, 2000, 2001);
    assert_in_range(most, 1, 500);
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_beyond_the_limit_is_held_and_goes_on),
        cmocka_unit_test(a_journal_that_has_more_than_the_limit_keeps_them),
        cmocka_unit_test(another_user_has_room_of_his_own),
        cmocka_unit_test(a_session_that_is_forgotten_leaves_room),
        cmocka_unit_test(lines_that_are_refused_wait_for_room),
        cmocka_unit_test(thousands_of_torn_files_are_passed_in_several_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
