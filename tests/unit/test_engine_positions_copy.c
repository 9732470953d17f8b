/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a session are those of an earlier time, and the backend has more: what is
 * taken for a copy, what is not, and what is a loss. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/rig_session.h"
#include "upload/resolve/resolve.h"

#define MINUTES_MS (60ull * 1000)

static struct rig_stream *device(struct rig *rig)
{
    return rig_positions_stream(&rig->positions, RIG_ID, "device");
}

static void lines(struct live_session *s, int from, int to)
{
    for (int i = from; i < to; i++) {
        live_line(s, "device", "x", i);
    }
}

static void in_session(const struct live_session *s, const char *script)
{
    char command[1200];
    snprintf(command, sizeof command, "cd '%s' && %s", s->dir, script);
    assert_int_equal(system(command), 0);
}

static void run_again(struct rig *rig)
{
    rig_start(rig);
    engine_rescan(rig->engine);
    rig_run(rig, 10 * MINUTES_MS, false);
}

/* Thirty lines were sent, and the uploader is stopped. */
static struct rig *with_thirty_sent(struct live_session *s)
{
    struct rig *rig = rig_positions_on(rig_new());
    rig->config.max_batch_lines = 10;
    live_open(s, rig->root, RIG_ID);
    live_line(s, "device", "job_start", 0);
    lines(s, 1, 30);
    run_again(rig);
    assert_int_equal(device(rig)->end.at.lines, 30);
    rig_stop(rig);
    return rig;
}

static int no_answer_to_parts(struct rig *rig, const struct rig_request *r)
{
    (void)rig;
    return r->kind == TRANSPORT_PARTS ? RIG_LOST : RIG_REGISTRY;
}

static int refuse_claims(struct rig *rig, const struct rig_request *r)
{
    (void)rig;
    return r->kind == TRANSPORT_COMPLETE ? 503 : RIG_REGISTRY;
}

/* The backend has more, whatever was noticed first. */
static void give_up_only(struct rig *rig)
{
    struct resolve_result result;
    assert_int_equal(rig_summary(rig).sessions_blocked, 1);
    resolve_in_first_root(rig->engine, RIG_ID, "device", &result);
    assert_int_equal(result.given_up, 1);
    assert_int_equal(engine_counters(rig->engine)->lost[HELD_BACKEND_LONGER], 1);
}

static void give_up(struct rig *rig)
{
    give_up_only(rig);
    rig_run(rig, 10 * MINUTES_MS, false);
}

static bool is_held(struct rig *rig, enum held_reason reason)
{
    char *progress = rig_file(rig, ".gpufl-agent/progress");
    bool held = strstr(progress, held_text(reason)) != NULL;
    free(progress);
    return held;
}

static void assert_ended(struct rig *rig, int state)
{
    assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), state);
    assert_int_equal(rig_summary(rig).sessions_done, state != 0);
}

/* The session was complete with thirty lines; \p grew, ten more came, and before it was
 * complete again, its files became those of before. */
static struct rig *copy_of_complete(struct live_session *s, bool grew)
{
    struct rig *rig = with_thirty_sent(s);
    live_rotate(s, "device", 1);
    lines(s, 30, 40);
    live_close(s);
    run_again(rig);
    assert_ended(rig, 1);
    if (grew) {
        rig->answer = refuse_claims;
        lines(s, 40, 50);
        engine_rescan(rig->engine);
        rig_run(rig, 10 * MINUTES_MS, false);
        assert_int_equal(device(rig)->end.at.lines, 50);
        rig->answer = NULL;
    }
    rig_stop(rig);
    in_session(s, "mv device.1.log device.log");
    return rig;
}

/* Nobody knows what its files held behind that. */
static void what_has_grown_since_it_was_complete_does_not_stay_complete(void **state)
{
    (void)state;
    for (int grew = 0; grew < 2; grew++) {
        struct live_session s;
        struct rig *rig = copy_of_complete(&s, grew);
        uint64_t stored = device(rig)->end.at.lines;
        run_again(rig);
        give_up(rig);
        assert_int_equal(device(rig)->end.at.lines, stored);
        assert_ended(rig, grew ? 2 : 1);
        rig_delete(rig);
    }
}

/* A person has spoken of an earlier copy, and then its lines become others: they are not
 * sent, and nobody knows which others there were. */
static void what_was_no_copy_after_all_does_not_stay_complete(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = copy_of_complete(&s, false);
    run_again(rig);
    give_up_only(rig);
    in_session(&s, "sed -i '5s/\"x\"/\"y\"/' device.log");
    rig_run(rig, 10 * MINUTES_MS, false);
    assert_int_equal(device(rig)->end.at.lines, 40);
    assert_ended(rig, 2);
    rig_delete(rig);
}

/* The writer of these files is not the one that was sent: nothing is waited for. */
static void an_earlier_copy_is_one_though_its_lock_is_held(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = with_thirty_sent(&s);
    live_rotate(&s, "device", 1);
    lines(&s, 30, 40);
    run_again(rig);
    rig_stop(rig);
    in_session(&s, "mv device.1.log device.log");
    run_again(rig);
    give_up(rig);
    assert_int_equal(rig_summary(rig).sessions_blocked, 0);
    assert_int_equal(device(rig)->end.at.lines, 40);
    live_close(&s);
    engine_rescan(rig->engine);
    rig_run(rig, 20 * MINUTES_MS, false);
    assert_int_equal(device(rig)->end.at.lines, 40);
    assert_ended(rig, 2);
    rig_delete(rig);
}

/* The journal knows of a sealed file that was not settled yet. */
static void an_earlier_copy_is_known_by_the_sealed_files_that_were_seen(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = with_thirty_sent(&s);
    rig->answer = no_answer_to_parts;
    live_rotate(&s, "device", 1);
    lines(&s, 30, 40);
    live_rotate(&s, "device", 2);
    lines(&s, 40, 50);
    run_again(rig);
    assert_int_equal(device(rig)->end.at.file, 2);
    rig_stop(rig);
    rig->answer = NULL;
    in_session(&s, "rm device.2.log && mv device.1.log device.log");
    live_close(&s);
    run_again(rig);
    give_up(rig);
    assert_int_equal(device(rig)->end.at.lines, 40);
    assert_ended(rig, 2);
    rig_delete(rig);
}

/* What is behind it is not lost: its disk lost the end of a file that is not the newest.
 */
static void a_sealed_file_that_is_shorter_is_no_copy(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = with_thirty_sent(&s);
    in_session(&s, "truncate -s -50 device.log");
    live_rotate(&s, "device", 1);
    lines(&s, 30, 40);
    live_close(&s);
    rig_lose_journal(rig);
    run_again(rig);
    assert_true(is_held(rig, HELD_BACKEND_LONGER));
    assert_int_equal(rig_count(rig, TRANSPORT_PLACE), 0);
    give_up(rig);
    assert_true(strstr(device(rig)->raw, "\"n\":39}") != NULL);
    assert_ended(rig, 2);
    rig_delete(rig);
}

/* All bytes up to there are compared, also those of earlier files. */
static void other_lines_in_an_earlier_file_are_no_copy(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = with_thirty_sent(&s);
    live_rotate(&s, "device", 1);
    lines(&s, 30, 40);
    run_again(rig);
    rig_stop(rig);
    rig_lose_journal(rig);
    in_session(&s, "sed -i '5s/\"x\"/\"y\"/' device.1.log && truncate -s -50 device.log");
    live_close(&s);
    run_again(rig);
    assert_true(is_held(rig, HELD_BACKEND_OTHER));
    assert_ended(rig, 0);
    rig_delete(rig);
}

/* The first ten lines are lost to the backend, so that its checksum of all bytes cannot
 * be compared. Then \p changes are made. */
static struct rig *cut_behind_a_loss(struct live_session *s, const char *changes)
{
    struct rig *rig = rig_positions_on(rig_new());
    live_open(s, rig->root, RIG_ID);
    live_line(s, "device", "job_start", 0);
    lines(s, 1, 10);
    live_rotate(s, "device", 1);
    lines(s, 10, 20);
    live_rotate(s, "device", 2);
    lines(s, 20, 40);
    in_session(s, "mv device.1.log ..");
    run_again(rig);
    assert_int_equal(device(rig)->end.losses, 1);
    rig_stop(rig);
    rig_lose_journal(rig);
    in_session(s, "truncate -s -50 device.log");
    in_session(s, changes);
    live_close(s);
    run_again(rig);
    return rig;
}

static void behind_a_loss_the_file_alone_is_compared(void **state)
{
    (void)state;
    struct live_session s;
    static const char *const changes[] = {"true",
                                          "mv ../device.1.log ."}; /* or all are there */
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct rig *rig = cut_behind_a_loss(&s, changes[i]);
        struct resolve_result result;
        assert_false(is_held(rig, HELD_BACKEND_OTHER));
        assert_ended(rig, 0); /* nobody has given up here what the backend lacks */
        resolve_in_first_root(rig->engine, RIG_ID, "device", &result);
        assert_int_equal(engine_counters(rig->engine)->lost[HELD_LOST_ELSEWHERE], 1);
        rig_run(rig, 10 * MINUTES_MS, false);
        assert_ended(rig, 2);
        rig_delete(rig);
    }
    struct rig *rig = cut_behind_a_loss(&s, "sed -i '5s/\"x\"/\"y\"/' device.log");
    assert_true(is_held(rig, HELD_BACKEND_OTHER));
    assert_ended(rig, 0);
    rig_delete(rig);
}

static void journal(const struct rig *rig, const char *script)
{
    char command[1200];
    snprintf(command, sizeof command, "cd '%s' && %s", rig->root, script);
    assert_int_equal(system(command), 0);
}

static unsigned conflicts(const struct rig *rig)
{
    unsigned n = 0;
    for (unsigned i = 0; i < rig->requests; i++) {
        const char *answer = rig->request[i].answer;
        n += answer && strstr(answer, "\"conflict\"") != NULL;
    }
    return n;
}

/* The journal is one of before, when thirty lines of the first file were sent; the
 * backend has it up to the second file. Then that file \p changes. */
static struct rig *with_an_earlier_journal(struct live_session *s, const char *changes)
{
    struct rig *rig = with_thirty_sent(s);
    journal(rig, "cp -a .gpufl-agent .kept");
    lines(s, 30, 35);
    live_rotate(s, "device", 1);
    lines(s, 35, 45);
    run_again(rig);
    assert_int_equal(device(rig)->end.at.lines, 45);
    rig_stop(rig);
    journal(rig, "rm -r .gpufl-agent && mv .kept .gpufl-agent");
    in_session(s, changes);
    run_again(rig);
    assert_int_equal(conflicts(rig), 1);
    return rig;
}

/* Neither of the processes that follow sends what the first one was told to be behind. */
static void what_is_known_to_be_behind_is_not_sent_after_a_restart(void **state)
{
    (void)state;
    static const struct {
        const char *changes;
        enum held_reason reason;
    } rows[] = {{"truncate -s -50 device.log", HELD_BACKEND_LONGER},
                {"rm device.log && echo '{\"type\":\"x\"}' >device.3.log",
                 HELD_BACKEND_UNPROVED}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct live_session s;
        struct resolve_result result;
        struct rig *rig = with_an_earlier_journal(&s, rows[i].changes);
        rig_stop(rig);
        run_again(rig);
        assert_true(is_held(rig, rows[i].reason));
        rig_stop(rig);
        rig_start(rig); /* as gpufl resolve does while no uploader runs */
        resolve_in_first_root(rig->engine, RIG_ID, "device", &result);
        assert_int_equal(result.given_up, 1);
        assert_int_equal(engine_counters(rig->engine)->lost[rows[i].reason], 1);
        rig_stop(rig);
        live_close(&s);
        run_again(rig);
        assert_int_equal(conflicts(rig), 1);
        rig_delete(rig);
    }
}

/* Three files; of the third, which was sealed since, the journal does not know all that
 * the backend got. Then a disk takes back the last seals, as \p changes. */
static struct rig *with_seals_taken_back(struct live_session *s, const char *changes)
{
    struct rig *rig = with_thirty_sent(s);
    live_rotate(s, "device", 1);
    lines(s, 30, 35);
    live_rotate(s, "device", 2);
    lines(s, 35, 60);
    run_again(rig);
    rig->answer = no_answer_to_parts;
    lines(s, 60, 70);
    live_rotate(s, "device", 3);
    engine_rescan(rig->engine);
    rig_run(rig, 10 * MINUTES_MS, false);
    rig_stop(rig);
    assert_int_equal(device(rig)->end.at.lines, 70);
    rig->answer = NULL;
    in_session(s, changes);
    live_close(s);
    return rig;
}

/* Its first file was, too: what is there is the second one. */
static void what_an_earlier_copy_has_not_got_is_asked_for_seldom(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = with_seals_taken_back(
        &s, "rm device.1.log device.3.log && mv device.2.log device.log");
    unsigned asked = rig_count(rig, TRANSPORT_ENDS);
    run_again(rig);
    assert_true(is_held(rig, HELD_EARLIER));
    assert_in_range(rig_count(rig, TRANSPORT_ENDS) - asked, 1, 3);
    rig_delete(rig);
}

/* What was sealed when it was sent is the newest file now, also after a restart. */
static void the_newest_file_is_what_the_disk_has_as_such(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = with_seals_taken_back(
        &s, "mv device.3.log device.log && truncate -s -50 device.log");
    rig->answer = refuse_claims;
    for (int runs = 0; runs < 2; runs++) {
        run_again(rig);
        assert_int_equal(device(rig)->end.at.lines, 70);
        assert_false(is_held(rig, HELD_EARLIER));
        rig_stop(rig);
    }
    rig->answer = NULL;
    run_again(rig);
    assert_ended(rig, 1);
    rig_delete(rig);
}

/* That its file was cut is so of the next one no more, in which there is nothing. */
static void what_a_sealed_file_lacks_is_asked_for_once_a_claim(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = with_thirty_sent(&s);
    in_session(&s, "truncate -s -50 device.log");
    live_close(&s);
    rig->answer = refuse_claims;
    run_again(rig);
    rig_stop(rig);
    live_rotate(&s, "device", 1);
    in_session(&s, "touch device.log");
    unsigned asked = rig_count(rig, TRANSPORT_ENDS);
    unsigned claimed = rig_count(rig, TRANSPORT_COMPLETE);
    run_again(rig);
    assert_in_range(rig_count(rig, TRANSPORT_ENDS) - asked, 1,
                    rig_count(rig, TRANSPORT_COMPLETE) - claimed);
    rig->answer = NULL;
    rig_run(rig, 2 * MINUTES_MS, false);
    assert_ended(rig, 1);
    rig_delete(rig);
}

/* The first and third file were deleted before they were sent. Then the host loses power,
 * and its disk takes back names, as \p changes. */
static struct rig *with_names_taken_back(struct live_session *s, const char *changes)
{
    struct rig *rig = rig_positions_on(rig_new());
    live_open(s, rig->root, RIG_ID);
    live_line(s, "device", "job_start", 0);
    live_rotate(s, "device", 1);
    lines(s, 10, 20);
    live_rotate(s, "device", 2);
    lines(s, 30, 40);
    live_tell(s, NULL, "device", 4, 10);
    in_session(s, "mv device.1.log first");
    run_again(rig);
    assert_int_equal(device(rig)->end.at.lines, 10);
    assert_true(is_held(rig, HELD_MISSING));
    rig_stop(rig);
    in_session(s, changes);
    live_tell(s, "11111111-1111-4111-8111-111111111111", "device", 4, 10);
    live_close(s);
    return rig;
}

static void behind_a_gap_an_earlier_file_is_not_the_next_one(void **state)
{
    (void)state;
    static const char *const changes[] = {"mv device.2.log device.log",
                                          "rm device.2.log && mv first device.log"};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct live_session s;
        struct rig *rig = with_names_taken_back(&s, changes[i]);
        struct resolve_result result;
        run_again(rig);
        assert_true(is_held(rig, HELD_EARLIER));
        resolve_in_first_root(rig->engine, RIG_ID, "device", &result);
        assert_int_equal(result.given_up, 0);
        assert_non_null(strstr(result.why, "may be an earlier copy"));
        assert_int_equal(device(rig)->end.at.lines, 10);
        rig_delete(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_has_grown_since_it_was_complete_does_not_stay_complete),
        cmocka_unit_test(what_was_no_copy_after_all_does_not_stay_complete),
        cmocka_unit_test(an_earlier_copy_is_one_though_its_lock_is_held),
        cmocka_unit_test(an_earlier_copy_is_known_by_the_sealed_files_that_were_seen),
        cmocka_unit_test(a_sealed_file_that_is_shorter_is_no_copy),
        cmocka_unit_test(other_lines_in_an_earlier_file_are_no_copy),
        cmocka_unit_test(behind_a_loss_the_file_alone_is_compared),
        cmocka_unit_test(what_is_known_to_be_behind_is_not_sent_after_a_restart),
        cmocka_unit_test(what_an_earlier_copy_has_not_got_is_asked_for_seldom),
        cmocka_unit_test(the_newest_file_is_what_the_disk_has_as_such),
        cmocka_unit_test(what_a_sealed_file_lacks_is_asked_for_once_a_claim),
        cmocka_unit_test(behind_a_gap_an_earlier_file_is_not_the_next_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
