/* SPDX-License-Identifier: Apache-2.0 */
/* The backend has a session complete, as one of a user whose id proved that, and nothing
 * else is known of it: what a directory has more is sent only if it may be that one. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/session_id.h"
#include "tests/support/rig_session.h"

#define MINUTES_MS (60ull * 1000)
#define NONCE      "000102030405060708090a0b0c0d0e0f"
#define LINE       "{\"type\":\"x\",\"more\":1}\n"

static uint32_t own_user(void)
{
    return (uint32_t)geteuid() + 1;
}

/* A complete session of which the uploader knows nothing any more; its directory has one
 * line more. \p owner is told to it. */
static struct rig *rig_with_more(const char *id, const char *manifest, uint32_t owner)
{
    struct live_session s;
    char dir[700];
    struct rig *rig = rig_positions_on(rig_new());
    live_open(&s, rig->root, id);
    live_list(&s, manifest);
    rig_fill(&s, 5);
    live_close(&s);
    rig_start(rig);
    rig_run(rig, 5 * MINUTES_MS, false);
    assert_int_equal(rig_positions_state(&rig->positions, id), 1);
    rig_stop(rig);
    rig_lose_journal(rig);
    rig_positions_session(&rig->positions, id)->owner = owner;
    snprintf(dir, sizeof dir, "%s/%s", rig->root, id);
    dirs_append(dir, "device.log", LINE);
    return rig;
}

static bool has_more(struct rig *rig, const char *id)
{
    const struct rig_stream *st = rig_positions_stream(&rig->positions, id, "device");
    return strstr(st->raw, LINE) != NULL;
}

static bool is_held(struct rig *rig)
{
    char *progress = rig_file(rig, ".gpufl-agent/progress");
    bool held = strstr(progress, held_text(HELD_FOREIGN)) != NULL;
    free(progress);
    return held;
}

static void what_the_copy_of_another_user_has_more_is_not_sent(void **state)
{
    (void)state;
    struct rig *rig = rig_with_more(RIG_ID, "\"device\"", own_user() + 1);
    rig_start(rig);
    rig_run(rig, MINUTES_MS, false);
    unsigned requests = rig->requests - rig_count(rig, TRANSPORT_PROBE);
    rig_run(rig, 60 * MINUTES_MS, false);
    assert_false(has_more(rig, RIG_ID));
    assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), 1);
    unsigned asked = rig->requests - rig_count(rig, TRANSPORT_PROBE);
    assert_in_range(asked - requests, 1, 24);
    assert_true(is_held(rig));
    rig_positions_session(&rig->positions, RIG_ID)->owner = own_user();
    rig_run(rig, 15 * MINUTES_MS, false);
    assert_true(has_more(rig, RIG_ID) && !is_held(rig));
    rig_delete(rig);
}

/* As by a window that anybody can make under the id. */
static void nor_is_it_once_the_session_is_open_again(void **state)
{
    (void)state;
    struct rig *rig = rig_with_more(RIG_ID, "\"device\"", own_user() + 1);
    rig_positions_session(&rig->positions, RIG_ID)->state = 0;
    rig_start(rig);
    rig_run(rig, 60 * MINUTES_MS, false);
    assert_false(has_more(rig, RIG_ID));
    assert_true(is_held(rig));
    rig_delete(rig);
}

/* A job that lives on, after it was taken for ended. */
static void its_user_asks_once_for_many_parts(void **state)
{
    (void)state;
    struct rig *rig = rig_with_more(RIG_ID, "\"device\"", own_user());
    char dir[700];
    unsigned before = rig_count(rig, TRANSPORT_PARTS);
    snprintf(dir, sizeof dir, "%s/%s", rig->root, RIG_ID);
    for (unsigned i = 1; i < 10; i++) {
        dirs_append(dir, "device.log", LINE);
    }
    rig->config.max_batch_lines = 1;
    rig_start(rig);
    rig_run(rig, 5 * MINUTES_MS, false);
    rig_same_as_file(rig, RIG_ID, "device");
    assert_int_equal(rig_count(rig, TRANSPORT_PARTS) - before, 11);
    rig_delete(rig);
}

/* As it was complete before there were owners, or as the id of an existing client. */
static void a_session_of_which_no_owner_is_told_goes_on(void **state)
{
    (void)state;
    struct rig *rig = rig_with_more(RIG_ID, "\"device\"", 0);
    rig_start(rig);
    rig_run(rig, 5 * MINUTES_MS, false);
    assert_true(has_more(rig, RIG_ID));
    rig_delete(rig);
}

/* Its user has another number elsewhere: the one that the job saw proves it. */
static void a_directory_whose_id_is_of_its_user_goes_on_whatever_is_told(void **state)
{
    (void)state;
    char id[UUID_TEXT];
    session_id_of(geteuid(), NONCE, id);
    struct rig *rig = rig_with_more(
        id, "\"device\"],\"id_nonce\":\"" NONCE "\",\"more\":[", own_user() + 1);
    rig_start(rig);
    rig_run(rig, 5 * MINUTES_MS, false);
    assert_true(has_more(rig, id));
    rig_delete(rig);
}

/* Who cannot prove it could keep the session from its user. */
static void an_owner_is_claimed_only_where_the_id_proves_it(void **state)
{
    (void)state;
    for (int bound = 0; bound < 2; bound++) {
        struct live_session s;
        char id[UUID_TEXT];
        struct rig *rig = rig_positions_on(rig_new());
        session_id_of(geteuid() + !bound, NONCE, id);
        live_open(&s, rig->root, id);
        live_list(&s, "\"device\"],\"id_nonce\":\"" NONCE "\",\"more\":[");
        rig_fill(&s, 5);
        live_close(&s);
        rig_start(rig);
        rig_run(rig, 5 * MINUTES_MS, false);
        assert_int_equal(rig_positions_state(&rig->positions, id), 1);
        assert_int_equal(rig_positions_session(&rig->positions, id)->owner,
                         bound ? own_user() : 0);
        rig_delete(rig);
    }
}

/* Of a session that the backend has open, as its user goes on, and no id proves whose
 * this directory is. */
static void what_ends_a_session_may_be_its_users_alone(void **state)
{
    (void)state;
    for (int own = 0; own < 2; own++) {
        struct live_session s;
        struct rig *rig = rig_positions_on(rig_new());
        live_open(&s, rig->root, RIG_ID);
        live_list(&s, "\"device\"");
        rig_fill(&s, 5);
        live_close(&s);
        rig_start(rig);
        rig_run(rig, 5 * MINUTES_MS, false);
        rig_stop(rig);
        rig_lose_journal(rig);
        struct rig_ended *ended = rig_positions_session(&rig->positions, RIG_ID);
        ended->owner = own_user() + !own;
        ended->state = 0;
        unsigned before = rig_count(rig, TRANSPORT_COMPLETE);
        rig_start(rig);
        rig_run(rig, 60 * MINUTES_MS, false);
        assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), own);
        assert_int_equal(is_held(rig), !own);
        assert_in_range(rig_count(rig, TRANSPORT_COMPLETE) - before, 2, own ? 2 : 80);
        rig_delete(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_copy_of_another_user_has_more_is_not_sent),
        cmocka_unit_test(nor_is_it_once_the_session_is_open_again),
        cmocka_unit_test(what_ends_a_session_may_be_its_users_alone),
        cmocka_unit_test(its_user_asks_once_for_many_parts),
        cmocka_unit_test(a_session_of_which_no_owner_is_told_goes_on),
        cmocka_unit_test(a_directory_whose_id_is_of_its_user_goes_on_whatever_is_told),
        cmocka_unit_test(an_owner_is_claimed_only_where_the_id_proves_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
