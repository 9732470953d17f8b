/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of sessions that a sender sees alive: which are read, and what is noted. */
#include "tests/support/check.h"

#include <stdlib.h>
#include <string.h>

#include "backend/http/alive_told.h"
#include "backend/store/store_health.h"
#include "backend/store/store_ingest.h"
#include "backend/store/store_sessions.h"
#include "schema/protocol.h"

static const char *why_not(const char *body)
{
    struct alive_told told;
    const char *fault = alive_told_read(body, strlen(body), &told);
    assert_true(!fault == (told.count > 0));
    alive_told_fini(&told);
    return fault;
}

static void a_list_is_read_and_nothing_else(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "[]",
        "{}",
        "{\"sessions\":{}}",
        "{\"sessions\":[]}",
        "{\"sessions\":[1]}",
        "{\"sessions\":[{\"session\":\"a\"}]}",
        "{\"sessions\":[{\"silent_ms\":1}]}",
        "{\"sessions\":[{\"session\":\"../a\",\"silent_ms\":1}]}",
        "{\"sessions\":[{\"session\":\"\",\"silent_ms\":1}]}",
        "{\"sessions\":[{\"session\":\"a\\u0000b\",\"silent_ms\":1}]}",
        "{\"sessions\":[{\"session\":\"a\",\"silent_ms\":-1}]}",
        "{\"sessions\":[{\"session\":\"a\",\"silent_ms\":1.5}]}",
        "{\"sessions\":[{\"session\":\"a\",\"silent_ms\":9007199254740993}]}",
        "{\"sessions\":[{\"session\":\"a\",\"silent_ms\":1}]} x",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (!why_not(wrong[i])) {
            fail_msg("%s was read", wrong[i]);
        }
    }
    assert_null(why_not("{\"sessions\":[{\"session\":\"a\",\"silent_ms\":0,\"x\":[]}]}"));
    assert_null(
        why_not("{\"sessions\":[{\"session\":\"a\",\"silent_ms\":9007199254740992}]}"));
}

static void a_list_has_256_sessions_at_most(void **state)
{
    (void)state;
    struct text list = {0};
    text_puts(&list, "{\"sessions\":[");
    for (unsigned i = 0; i < PROTOCOL_MAX_ALIVE; i++) {
        text_printf(&list, "%s{\"session\":\"s%u\",\"silent_ms\":1}", i ? "," : "", i);
    }
    struct text more = {0};
    text_append(&more, list.data, list.len);
    text_puts(&list, "]}");
    text_puts(&more, ",{\"session\":\"one\",\"silent_ms\":1}]}");
    struct alive_told told;
    assert_null(alive_told_read(list.data, list.len, &told));
    assert_int_equal(told.count, PROTOCOL_MAX_ALIVE);
    assert_string_equal(told.session[255].session, "s255");
    alive_told_fini(&told);
    assert_non_null(alive_told_read(more.data, more.len, &told));
    text_fini(&list);
    text_fini(&more);
}

static void count_changed(void *arg, const char *session)
{
    unsigned *count = arg;
    assert_string_equal(session, "known");
    ++*count;
}

static void keep_session(void *arg, const struct store_session *session)
{
    *(struct store_session *)arg = *session;
}

static void only_sessions_that_are_stored_are_noted(void **state)
{
    (void)state;
    struct store *store;
    char why[256];
    struct store_stored stored;
    struct store_session before = {0};
    struct store_session after = {0};
    unsigned changed = 0;
    assert_int_equal(store_open(":memory:", &store, why), GPUFL_OK);
    assert_int_equal(store_touch(store, "known", &stored), GPUFL_OK);
    assert_int_equal(store_sessions(store, NULL, 9, 0, keep_session, &before), GPUFL_OK);
    assert_int_equal(before.told_ms, 0);
    static const char body[] =
        "{\"sessions\":[{\"session\":\"stranger\",\"silent_ms\":1},"
        "{\"session\":\"known\",\"silent_ms\":60000},"
        "{\"session\":\"another\",\"silent_ms\":1}]}";
    struct ingest_request request = {.body = body, .len = sizeof body - 1};
    struct text answer = {0};
    assert_int_equal(alive_told_take(store, &request, &answer, count_changed, &changed),
                     200);
    assert_string_equal(answer.data, "{\"known\":1,\"unknown\":2}\n");
    assert_int_equal(changed, 1);
    assert_int_equal(store_sessions(store, NULL, 9, 0, keep_session, &after), GPUFL_OK);
    assert_string_equal(after.session, "known"); /* the only one */
    assert_true(after.told_ms >= before.last_seen_ms);
    assert_int_equal(after.told_ms - after.last_byte_ms, 60000);
    assert_int_equal(after.last_seen_ms, before.last_seen_ms);
    assert_int_equal(after.lines, 0);
    text_fini(&answer);
    store_close(store);
}

static int tell(struct store *store, const char *session)
{
    struct text body = {0};
    struct text answer = {0};
    unsigned changed = 0;
    text_printf(&body, "{\"sessions\":[{\"session\":\"%s\",\"silent_ms\":1}]}", session);
    struct ingest_request request = {.body = body.data, .len = body.len};
    int status = alive_told_take(store, &request, &answer, count_changed, &changed);
    text_fini(&body);
    text_fini(&answer);
    return status;
}

static void only_what_was_written_shows_that_writing_works(void **state)
{
    (void)state;
    struct store *store;
    char why[256];
    struct store_stored stored;
    assert_int_equal(store_open(":memory:", &store, why), GPUFL_OK);
    assert_int_equal(store_touch(store, "known", &stored), GPUFL_OK);
    store_health_failed(store, 0);
    assert_int_equal(tell(store, "stranger"), 200);
    assert_non_null(store_health_why(store));
    assert_int_equal(tell(store, "known"), 200);
    assert_null(store_health_why(store));
    store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_is_read_and_nothing_else),
        cmocka_unit_test(a_list_has_256_sessions_at_most),
        cmocka_unit_test(only_sessions_that_are_stored_are_noted),
        cmocka_unit_test(only_what_was_written_shows_that_writing_works),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
