/* SPDX-License-Identifier: Apache-2.0 */
/* Another database behind the same URL, and a backend that knows positions behind another
 * one or no more. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/rig_backend.h"
#include "tests/support/rig_session.h"
#include "upload/http/origin_identity.h"

#define MINUTES_MS (60ull * 1000)

#define VERSION(more) "{\"supported\":[\"1\"],\"encodings\":[\"zstd\"]" more "}"

/* The backend names its database, or none. */
static void rig_names(struct rig *rig, const char *database)
{
    rig->positions.database = database;
    rig->version_body = !database          ? VERSION(",\"epoch\":\"1\"")
                        : *database == 'a' ? VERSION(",\"epoch\":\"a.1\"")
                                           : VERSION(",\"epoch\":\"b.1\"");
}

static void rig_knows_positions(struct rig *rig, const char *database)
{
    rig->positions.declared = true;
    rig->positions.epoch = 1;
    rig->positions.database = database;
    rig->version_body = *database == 'a'
                            ? VERSION(",\"positions\":true,\"epoch\":\"a.1\"")
                            : VERSION(",\"positions\":true,\"epoch\":\"b.1\"");
}

/* Another one: it has nothing. */
static void rig_forgets(struct rig *rig)
{
    rig_positions_fini(&rig->positions);
    rig->positions = (struct rig_positions){0};
    for (unsigned i = 0; i < rig->requests; i++) {
        free(rig->request[i].raw);
        rig->request[i].raw = NULL;
    }
}

static struct rig *rig_with_backend(const char *url)
{
    static struct origin_identity backend;
    struct rig *rig = rig_ended_session(20);
    origin_identity_make(url, "key", &backend);
    rig->config.backend = &backend;
    rig->config.max_requests_per_second = 0;
    return rig;
}

/* It was complete behind that URL, by positions. */
static struct rig *rig_sent_by_positions(void)
{
    struct rig *rig = rig_with_backend("https://a.example/api/v1");
    rig_knows_positions(rig, "a.");
    rig_start(rig);
    rig_run(rig, 5 * MINUTES_MS, false);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), 0);
    return rig;
}

/* All is set back once nothing of other channels is under way: answers would be about
 * offers that are gone. */
static void another_database_gets_everything_once(void **state)
{
    (void)state;
    for (uint64_t answer_ms = 0; answer_ms < 40000; answer_ms += 4000) {
        struct live_session s;
        struct rig *rig = rig_sent_by_positions();
        live_open(&s, rig->root, RIG_ID2);
        live_line(&s, "device", "x", 0);
        live_line(&s, "scope", "x", 0);
        rig_run(rig, 60000, false);
        rig_forgets(rig);
        rig_knows_positions(rig, "b.");
        rig->answer_ms = answer_ms;
        for (int i = 0; i < 100; i++) {
            live_line(&s, "device", "x", i);
            rig_run(rig, 700, false);
            live_line(&s, "scope", "x", i);
            rig_run(rig, 10300, false); /* the backend is asked again every 10 min */
        }
        live_close(&s);
        rig_run(rig, 60 * MINUTES_MS, false);
        rig_all_same(rig, RIG_ID);
        rig_same_as_file(rig, RIG_ID2, "device");
        rig_same_as_file(rig, RIG_ID2, "scope");
        assert_int_equal(rig_summary(rig).sessions_done, 2);
        rig_delete(rig);
    }
}

static void a_database_that_is_named_later_is_the_same(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++) {
        struct rig *rig = rig_with_backend("https://a.example/api/v1");
        rig_names(rig, NULL);
        rig_start(rig);
        rig_run(rig, 5 * MINUTES_MS, false);
        unsigned batches = rig_count(rig, TRANSPORT_BATCH);
        assert_int_equal(batches, 6);
        if (restart) {
            rig_stop(rig);
            rig_start(rig);
        }
        rig_names(rig, "a.");
        rig_run(rig, 60 * MINUTES_MS, false);
        assert_int_equal(rig_count(rig, TRANSPORT_BATCH), batches);
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
        rig_forgets(rig);
        rig_names(rig, "b."); /* but another one that is named then is not */
        rig_run(rig, 60 * MINUTES_MS, false);
        assert_int_equal(rig_count(rig, TRANSPORT_BATCH), 2 * batches);
        rig_all_same(rig, RIG_ID);
        rig_delete(rig);
    }
}

/* Behind one URL are several programs, and one of them is an old one: what it would store
 * has no place. */
static void behind_the_same_url_a_stream_goes_on_by_positions(void **state)
{
    (void)state;
    struct rig *rig = rig_sent_by_positions();
    rig_forgets(rig);
    rig_names(rig, "b.");
    rig_run(rig, 60 * MINUTES_MS, false);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), 0);
    assert_int_equal(rig_summary(rig).sessions_done, 0);
    rig_knows_positions(rig, "b.");
    rig_run(rig, 60 * MINUTES_MS, false);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), 0);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_all_same(rig, RIG_ID);
    rig_delete(rig);
}

static void behind_another_url_it_begins_as_that_backend_says(void **state)
{
    (void)state;
    struct origin_identity other;
    struct rig *rig = rig_sent_by_positions();
    rig_stop(rig);
    rig_forgets(rig);
    rig_names(rig, "b.");
    origin_identity_make("https://b.example/api/v1", "key", &other);
    rig->config.backend = &other;
    rig_start(rig);
    rig_run(rig, 60 * MINUTES_MS, false);
    assert_true(rig_count(rig, TRANSPORT_BATCH) > 0);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_all_same(rig, RIG_ID);
    rig_delete(rig);
}

/* The journal is lost, and the key is another one by now. */
static void without_a_journal_the_progress_names_the_database(void **state)
{
    (void)state;
    struct origin_identity other;
    char command[1200];
    origin_identity_make("https://a.example/api/v1", "another key", &other);
    for (int i = 0; i < 4; i++) {
        bool same = i % 2;
        bool restart = i / 2; /* before the backend has answered */
        struct rig *rig = rig_with_backend("https://a.example/api/v1");
        rig_names(rig, "a.");
        rig_start(rig);
        rig_run(rig, 5 * MINUTES_MS, false);
        unsigned batches = rig_count(rig, TRANSPORT_BATCH);
        rig_stop(rig);
        snprintf(command, sizeof command, "rm '%s'/.gpufl-agent/journal*", rig->root);
        assert_int_equal(system(command), 0);
        if (!same) {
            rig_forgets(rig);
            rig_names(rig, "b.");
        }
        rig->config.backend = &other;
        rig_start(rig);
        if (restart) {
            rig_stop(rig);
            rig_start(rig);
        }
        rig_run(rig, 60 * MINUTES_MS, false);
        unsigned again = rig_count(rig, TRANSPORT_BATCH) - batches;
        if (again != (same ? 0 : batches)) {
            fail_msg("case %d: %u batches, then %u", i, batches, again);
        }
        rig_all_same(rig, RIG_ID);
        rig_stop(rig); /* that is noted */
        rig_start(rig);
        rig_run(rig, 60 * MINUTES_MS, false);
        assert_int_equal(rig_count(rig, TRANSPORT_BATCH), batches + again);
        rig_delete(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_database_gets_everything_once),
        cmocka_unit_test(a_database_that_is_named_later_is_the_same),
        cmocka_unit_test(behind_the_same_url_a_stream_goes_on_by_positions),
        cmocka_unit_test(behind_another_url_it_begins_as_that_backend_says),
        cmocka_unit_test(without_a_journal_the_progress_names_the_database),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
