/* SPDX-License-Identifier: Apache-2.0 */
/* The journal is about one backend: what follows when the settings name another one. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/rig_backend.h"
#include "tests/support/rig_session.h"
#include "upload/core/engine_state.h"
#include "upload/http/origin_identity.h"

static struct origin_identity backend_a;
static struct origin_identity backend_b;

static void start_with(struct rig *rig, const struct origin_identity *backend)
{
    rig->config.backend = backend;
    rig_start(rig);
}

/* The next backend has another memory. */
static void forget_all(struct rig *rig)
{
    for (unsigned i = 0; i < rig->requests; i++) {
        free(rig->request[i].raw);
        rig->request[i].raw = NULL;
    }
}

static struct rig *rig_sent_to_a(int lines)
{
    origin_identity_make("https://a.example/api/v1", "key a", &backend_a);
    origin_identity_make("https://b.example/api/v1", "key a", &backend_b);
    struct rig *rig = rig_ended_session(lines);
    start_with(rig, &backend_a);
    rig_run(rig, 60000, true);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_stop(rig);
    return rig;
}

static void another_backend_gets_everything(void **state)
{
    (void)state;
    struct rig *rig = rig_sent_to_a(3);
    forget_all(rig);
    unsigned batches = rig_count(rig, TRANSPORT_BATCH);
    start_with(rig, &backend_b);
    rig_run(rig, 60000, true);
    rig_all_same(rig, RIG_ID);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), 2 * batches);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 2);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    assert_int_equal(rig_summary(rig).streams_done_before, 0);
    rig_stop(rig);
    start_with(rig, &backend_b);
    rig_run(rig, 60000, true);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), 2 * batches);
    rig_delete(rig);
}

static void another_key_is_another_backend(void **state)
{
    (void)state;
    struct rig *rig = rig_sent_to_a(3);
    struct origin_identity other;
    origin_identity_make("https://a.example/api/v1", "key of another workspace", &other);
    forget_all(rig);
    start_with(rig, &other);
    rig_run(rig, 60000, true);
    rig_all_same(rig, RIG_ID);
    rig_delete(rig);
}

static void the_same_backend_by_another_name_gets_the_rest_only(void **state)
{
    (void)state;
    struct rig *rig = rig_sent_to_a(3);
    unsigned batches = rig_count(rig, TRANSPORT_BATCH);
    struct live_session s;
    live_open(&s, rig->root, RIG_ID2);
    live_line(&s, "device", "x", 1);
    rig->config.same_origin = true;
    start_with(rig, &backend_b);
    rig_run(rig, 5000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), batches + 1);
    rig_stop(rig);
    rig->config.same_origin = false; /* once is enough */
    start_with(rig, &backend_b);
    rig_run(rig, 5000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), batches + 1);
    live_close(&s);
    rig_delete(rig);
}

/* Sends what is there to \p backend, to which all that was sent before was not. */
static void rig_move_to(struct rig *rig, const struct origin_identity *backend)
{
    forget_all(rig);
    start_with(rig, backend);
    rig_run(rig, 60000, true);
    rig_stop(rig);
}

static bool is_taken_for_the_same(struct rig *rig, const struct origin_identity *backend)
{
    char why[512] = "";
    unsigned requests = rig->requests;
    rig->config.backend = backend;
    rig->config.same_origin = true;
    assert_int_equal(engine_open(&rig->config, &rig->engine), GPUFL_OK);
    gpufl_status status = engine_add_root(rig->engine, rig->root, &rig->channels, why);
    if (status != GPUFL_OK) {
        assert_int_equal(status, GPUFL_ERR_USAGE);
        assert_non_null(strstr(why, "--same-origin: "));
        assert_non_null(strstr(why, backend->url));
        assert_non_null(strstr(why, "leave it out"));
    }
    rig_stop(rig);
    rig->config.same_origin = false;
    assert_int_equal(rig->requests, requests);
    return status == GPUFL_OK;
}

static void a_backend_that_was_left_is_not_the_same(void **state)
{
    (void)state;
    struct origin_identity a_too;
    struct origin_identity other_key;
    struct origin_identity c;
    origin_identity_make("https://a-too.example/api/v1", "key a", &a_too);
    origin_identity_make("https://a.example/api/v1", "key b", &other_key);
    origin_identity_make("https://c.example/api/v1", "key c", &c);
    struct rig *rig = rig_sent_to_a(3);
    rig->config.same_origin = true; /* another name of a */
    start_with(rig, &a_too);
    rig_run(rig, 20000, true);
    rig_stop(rig);
    rig->config.same_origin = false;
    assert_true(is_taken_for_the_same(rig, &backend_a)); /* and back */
    rig_move_to(rig, &backend_b);
    assert_false(is_taken_for_the_same(rig, &backend_a));
    assert_false(is_taken_for_the_same(rig, &a_too));
    assert_false(is_taken_for_the_same(rig, &other_key));
    assert_true(is_taken_for_the_same(rig, &backend_b));
    assert_true(is_taken_for_the_same(rig, &c)); /* another name of b */
    rig_move_to(rig, &backend_a);
    rig_all_same(rig, RIG_ID);
    assert_false(is_taken_for_the_same(rig, &backend_b));
    assert_true(is_taken_for_the_same(rig, &other_key));
    for (int again = 0; again < 40; again++) { /* there are still only three */
        rig_move_to(rig, again % 2 ? &backend_a : &backend_b);
    }
    assert_true(is_taken_for_the_same(rig, &c));
    assert_false(is_taken_for_the_same(rig, &a_too));
    rig_delete(rig);
}

static void another_workspace_at_the_same_url_is_not_the_same(void **state)
{
    (void)state;
    struct origin_identity other;
    struct origin_identity third;
    origin_identity_make("https://a.example/api/v1", "key of another workspace", &other);
    origin_identity_make("https://a.example/api/v1", "a third key", &third);
    struct rig *rig = rig_sent_to_a(3);
    rig_move_to(rig, &other);
    assert_false(is_taken_for_the_same(rig, &backend_a));
    assert_true(is_taken_for_the_same(rig, &third));
    rig_delete(rig);
}

static void a_backend_to_which_nothing_was_sent_is_not_the_same(void **state)
{
    (void)state;
    origin_identity_make("https://a.example/api/v1", "key a", &backend_a);
    origin_identity_make("https://b.example/api/v1", "key a", &backend_b);
    struct rig *rig = rig_new();
    rig->config.backend = &backend_a;
    rig_start(rig);
    engine_take_key(rig->engine);
    rig->engine->origin.proved = true; /* by an empty batch, for example */
    rig_run(rig, 1000, false);
    rig_stop(rig);
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    rig_fill(&s, 3);
    live_close(&s);
    rig_move_to(rig, &backend_b);
    assert_false(is_taken_for_the_same(rig, &backend_a));
    rig_delete(rig);
}

static void a_change_is_noted_though_nothing_is_sent(void **state)
{
    (void)state;
    struct rig *rig = rig_sent_to_a(3);
    unsigned batches = rig_count(rig, TRANSPORT_BATCH);
    struct origin_identity current;
    rig->config.same_origin = true;
    start_with(rig, &backend_b);
    rig_run(rig, 20000, true);
    current = backend_b;
    rig_stop(rig);
    rig->config.same_origin = false;
    start_with(rig, &current);
    rig_run(rig, 20000, true);
    origin_identity_make("https://b.example/api/v1", "the next key", &current);
    engine_take_key(rig->engine); /* while it is in use */
    rig_run(rig, 20000, true);
    rig_stop(rig);
    start_with(rig, &current);
    rig_run(rig, 20000, true);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), batches);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_delete(rig);
}

static void lose_the_journal_alone(const struct rig *rig)
{
    char command[1200];
    snprintf(command, sizeof command, "rm '%s'/.gpufl-agent/journal*", rig->root);
    assert_int_equal(system(command), 0);
}

static void progress_about_another_backend_does_not_count(void **state)
{
    (void)state;
    struct rig *rig = rig_sent_to_a(3);
    unsigned batches = rig_count(rig, TRANSPORT_BATCH);
    lose_the_journal_alone(rig);
    start_with(rig, &backend_a);
    rig_run(rig, 20000, true);
    rig_stop(rig);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), batches);
    lose_the_journal_alone(rig);
    rig->config.same_origin = true;
    start_with(rig, &backend_b); /* another name of a */
    rig_run(rig, 20000, true);
    rig_stop(rig);
    rig->config.same_origin = false;
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), batches);
    lose_the_journal_alone(rig);
    rig_move_to(rig, &backend_a);
    rig_all_same(rig, RIG_ID);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), 2 * batches);
    rig_delete(rig);
}

static int answer_no_key(struct rig *rig, const struct rig_request *request)
{
    (void)rig;
    return request->kind == TRANSPORT_PROBE ? RIG_REGISTRY : 401;
}

static int answer_nothing(struct rig *rig, const struct rig_request *request)
{
    (void)rig;
    (void)request;
    return 0;
}

/* Not a backend at all: a web server. */
static int answer_not_found(struct rig *rig, const struct rig_request *request)
{
    (void)rig;
    (void)request;
    return 404;
}

static void progress_is_about_the_backend_before_until_the_key_is_taken(void **state)
{
    (void)state;
    struct rig *rig = rig_sent_to_a(3);
    unsigned batches = rig_count(rig, TRANSPORT_BATCH);
    rig->answer = answer_no_key;
    start_with(rig, &backend_b);
    rig_run(rig, 20000, false);
    rig_stop(rig);
    rig->answer = NULL;
    lose_the_journal_alone(rig);
    rig_move_to(rig, &backend_b);
    rig_all_same(rig, RIG_ID);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), 2 * batches);
    rig_delete(rig);
}

static void a_backend_that_does_not_take_the_key_changes_nothing(void **state)
{
    (void)state;
    int (*const wrong[])(struct rig *, const struct rig_request *) = {
        answer_no_key, answer_nothing, answer_not_found};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct rig *rig = rig_sent_to_a(3);
        unsigned completed = rig_count(rig, TRANSPORT_COMPLETE);
        rig->answer = wrong[i];
        start_with(rig, &backend_b);
        rig_run(rig, 200000, false);
        assert_false(engine_drained(rig->engine));
        assert_true(rig->loops < 500); /* it waits, it does not spin */
        for (unsigned r = 0; r < rig->requests; r++) {
            assert_true(rig->request[r].status == 200 || rig->request[r].raw_len == 0);
        }
        rig_stop(rig);
        rig->answer = NULL;
        unsigned batches = rig_count(rig, TRANSPORT_BATCH);
        start_with(rig, &backend_a);
        rig_run(rig, 5000, false);
        assert_int_equal(rig_count(rig, TRANSPORT_BATCH), batches);
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), completed);
        assert_int_equal(rig_summary(rig).sessions_done, 1);
        rig_delete(rig);
    }
}

static void the_key_from_before_ends_the_wait_without_a_restart(void **state)
{
    (void)state;
    struct rig *rig = rig_sent_to_a(3);
    unsigned batches = rig_count(rig, TRANSPORT_BATCH);
    struct origin_identity current;
    origin_identity_make("https://a.example/api/v1", "a typing error", &current);
    rig->answer = answer_no_key;
    start_with(rig, &current);
    rig_run(rig, 10000, false);
    assert_int_equal(rig_summary(rig).hold, HOLD_AUTH);
    rig->answer = NULL;
    current = backend_a;
    engine_take_key(rig->engine);
    engine_retry_now(rig->engine);
    rig_run(rig, 100000, true);
    assert_true(engine_drained(rig->engine));
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), batches);
    rig_delete(rig);
}

static void a_key_that_was_replaced_in_use_is_of_the_same_backend(void **state)
{
    (void)state;
    struct rig *rig = rig_sent_to_a(3);
    struct live_session s;
    struct origin_identity current = backend_a;
    start_with(rig, &current);
    rig_run(rig, 1000, false);
    origin_identity_make("https://a.example/api/v1", "the next key", &current);
    engine_take_key(rig->engine);
    live_open(&s, rig->root, RIG_ID2);
    live_line(&s, "device", "x", 1);
    rig_run(rig, 20000, false);
    unsigned batches = rig_count(rig, TRANSPORT_BATCH);
    rig_stop(rig);
    start_with(rig, &current);
    rig_run(rig, 5000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), batches);
    live_close(&s);
    rig_delete(rig);
}

static void a_journal_from_before_is_taken_for_one_of_this_backend(void **state)
{
    (void)state;
    origin_identity_make("https://a.example/api/v1", "key a", &backend_a);
    origin_identity_make("https://b.example/api/v1", "key a", &backend_b);
    struct rig *rig = rig_ended_session(3);
    start_with(rig, NULL);
    rig_run(rig, 60000, true);
    unsigned batches = rig_count(rig, TRANSPORT_BATCH);
    rig_stop(rig);
    struct live_session s;
    live_open(&s, rig->root, RIG_ID2);
    live_line(&s, "device", "x", 1);
    start_with(rig, &backend_a);
    rig_run(rig, 20000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), batches + 1);
    rig_stop(rig);
    forget_all(rig);
    start_with(rig, &backend_b); /* from now on it says which */
    rig_run(rig, 20000, false);
    rig_all_same(rig, RIG_ID);
    live_close(&s);
    rig_delete(rig);
}

static void what_was_deleted_meanwhile_is_said_and_not_called_complete(void **state)
{
    (void)state;
    origin_identity_make("https://a.example/api/v1", "key a", &backend_a);
    origin_identity_make("https://b.example/api/v1", "key a", &backend_b);
    struct rig *rig = rig_new();
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    for (unsigned n = 1; n <= 3; n++) {
        live_line(&s, "device", "x", (int)n);
        live_rotate(&s, "device", n);
    }
    rig_fill(&s, 2);
    live_close(&s);
    rig->config.delete_acked = DELETE_ALL;
    start_with(rig, &backend_a);
    rig_run(rig, 60000, true);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_stop(rig);
    forget_all(rig);
    unsigned completed = rig_count(rig, TRANSPORT_COMPLETE);
    for (int again = 0; again < 3; again++) {
        start_with(rig, &backend_b);
        rig_run(rig, 60000, true);
        assert_true(engine_drained(rig->engine));
        rig_same_as_file(rig, RIG_ID, "system");
        assert_int_equal(rig_summary(rig).sessions_done, 0);
        assert_int_equal(rig_summary(rig).sessions_blocked, 1);
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), completed);
        rig_stop(rig);
    }
    char *stored = rig_stored(rig, RIG_ID, "device");
    assert_non_null(strstr(stored, "\"shutdown\"")); /* what is there is sent */
    free(stored);
    rig_delete(rig);
}

static void a_crash_while_all_is_sent_again_loses_and_repeats_nothing(void **state)
{
    (void)state;
    for (uint64_t ms = 0; ms < 60; ms += 1) {
        struct rig *rig = rig_sent_to_a(3);
        forget_all(rig);
        start_with(rig, &backend_b);
        rig_run(rig, ms, false);
        rig_stop(rig);
        start_with(rig, &backend_b);
        rig_run(rig, 60000, true);
        rig_all_same(rig, RIG_ID);
        assert_int_equal(rig_summary(rig).sessions_done, 1);
        assert_int_equal(rig_summary(rig).ranges_quarantined, 0);
        rig_delete(rig);
    }
}

static void a_url_is_the_same_in_other_words(void **state)
{
    (void)state;
    static const char *const same[][2] = {
        {"https://Host.example/api/v1", "HTTPS://host.example:443/api/v1"},
        {"http://h:80/api/v1", "http://H/api/v1"},
    };
    static const char *const other[][2] = {
        {"https://h/api/v1", "http://h/api/v1"},
        {"http://h:8080/api/v1", "http://h/api/v1"},
        {"http://h/api/v1", "http://h/API/v1"},
        {"https://h:80/api/v1", "https://h/api/v1"},
    };
    struct origin_identity a;
    struct origin_identity b;
    for (size_t i = 0; i < 2; i++) {
        origin_identity_make(same[i][0], "k", &a);
        origin_identity_make(same[i][1], "k", &b);
        assert_string_equal(a.url, b.url);
        assert_memory_equal(a.key, b.key, sizeof a.key);
    }
    for (size_t i = 0; i < 4; i++) {
        origin_identity_make(other[i][0], "k", &a);
        origin_identity_make(other[i][1], NULL, &b);
        assert_string_not_equal(a.url, b.url);
        assert_memory_not_equal(a.key, b.key, sizeof a.key);
    }
}

static void hashes_are_those_of_the_standard(void **state)
{
    (void)state;
    static const struct {
        const char *text, *hex;
    } row[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    for (size_t i = 0; i < 3; i++) {
        unsigned char hash[SHA256_BYTES];
        char hex[2 * SHA256_BYTES + 1];
        size_t half = strlen(row[i].text) / 2;
        struct sha256_part part[] = {{row[i].text, half},
                                     {row[i].text + half, strlen(row[i].text) - half}};
        sha256(part, 2, hash);
        for (size_t k = 0; k < SHA256_BYTES; k++) {
            snprintf(hex + 2 * k, 3, "%02x", hash[k]);
        }
        assert_string_equal(hex, row[i].hex);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_backend_gets_everything),
        cmocka_unit_test(another_key_is_another_backend),
        cmocka_unit_test(the_same_backend_by_another_name_gets_the_rest_only),
        cmocka_unit_test(a_backend_that_was_left_is_not_the_same),
        cmocka_unit_test(another_workspace_at_the_same_url_is_not_the_same),
        cmocka_unit_test(a_backend_to_which_nothing_was_sent_is_not_the_same),
        cmocka_unit_test(a_change_is_noted_though_nothing_is_sent),
        cmocka_unit_test(progress_about_another_backend_does_not_count),
        cmocka_unit_test(progress_is_about_the_backend_before_until_the_key_is_taken),
        cmocka_unit_test(a_backend_that_does_not_take_the_key_changes_nothing),
        cmocka_unit_test(the_key_from_before_ends_the_wait_without_a_restart),
        cmocka_unit_test(a_key_that_was_replaced_in_use_is_of_the_same_backend),
        cmocka_unit_test(a_journal_from_before_is_taken_for_one_of_this_backend),
        cmocka_unit_test(what_was_deleted_meanwhile_is_said_and_not_called_complete),
        cmocka_unit_test(a_crash_while_all_is_sent_again_loses_and_repeats_nothing),
        cmocka_unit_test(a_url_is_the_same_in_other_words),
        cmocka_unit_test(hashes_are_those_of_the_standard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
