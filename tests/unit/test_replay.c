/* SPDX-License-Identifier: Apache-2.0 */
/* What a journal says is the same after one restart and after several, each of which
 * writes it anew. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/rig_session.h"
#include "upload/http/origin_identity.h"
#include "upload/journal/journal_read.h"

static void restart(struct rig *rig)
{
    rig_stop(rig);
    rig_start(rig);
}

static void remove_file(const struct live_session *s, const char *name)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", s->dir, name);
    assert_int_equal(unlink(path), 0);
}

static void each_stream_keeps_a_number_of_its_own(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s[3];
    struct journal_read journal;
    static const char *const id[] = {RIG_ID, RIG_ID2,
                                     "33333333-3333-4333-8333-333333333333"};
    rig_start(rig);
    for (int i = 0; i < 3; i++) {
        live_open(&s[i], rig->root, id[i]);
        live_line(&s[i], "device", "x", i);
        live_line(&s[i], "scope", "x", i);
        rig_run(rig, 60000, false);
        restart(rig);
    }
    unsigned before = rig_count(rig, TRANSPORT_BATCH);
    restart(rig);
    rig_run(rig, 60000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), before);
    int root = open(rig->root, O_RDONLY | O_DIRECTORY);
    assert_int_equal(journal_read_open(&sys_real, NULL, root, rig->root, &journal),
                     GPUFL_OK);
    assert_int_equal(journal.streams, 6);
    for (size_t a = 0; a < journal.streams; a++) {
        assert_true(journal.stream[a].record.offset > 0);
        for (size_t b = 0; b < a; b++) {
            assert_int_not_equal(journal.stream[a].record.stream,
                                 journal.stream[b].record.stream);
        }
    }
    journal_read_fini(&journal);
    close(root);
    for (int i = 0; i < 3; i++) {
        live_close(&s[i]);
    }
    rig_delete(rig);
}

static void a_complete_session_is_so_in_a_journal_that_is_written_anew(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(3);
    struct live_session s;
    rig->config.journal_bytes = 256;
    live_open(&s, rig->root, RIG_ID2);
    rig_start(rig);
    rig_run(rig, 60000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    for (int n = 0; n < 200; n++) {
        live_line(&s, "device", "x", n);
        engine_rescan(rig->engine);
        rig_run(rig, 1000, false);
    }
    restart(rig);
    rig_run(rig, 60000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    live_close(&s);
    rig_delete(rig);
}

static int busy(struct rig *rig, const struct rig_request *r)
{
    return r->kind == TRANSPORT_BATCH && !rig->mark ? 503 : RIG_REGISTRY;
}

static void a_sealed_file_is_missed_after_several_restarts(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    for (int n = 1; n <= 2; n++) {
        live_line(&s, "device", "x", n);
        live_rotate(&s, "device", (unsigned)n);
    }
    live_line(&s, "device", "x", 3);
    rig->answer = busy;
    rig_start(rig);
    rig_run(rig, 20000, false);
    restart(rig);
    rig_stop(rig);
    remove_file(&s, "device.2.log");
    rig->mark = 1;
    rig_start(rig);
    rig_run(rig, 600000, false);
    live_close(&s);
    rig_run(rig, 600000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
    assert_int_equal(rig_summary(rig).sessions_blocked, 1);
    rig_delete(rig);
}

/* The file looks whole: that there was more is only known from before. */
static void what_an_earlier_backend_got_is_missed_after_several_restarts(void **state)
{
    (void)state;
    static struct origin_identity a;
    static struct origin_identity b;
    struct live_session s;
    struct rig *rig = rig_new();
    origin_identity_make("https://a.example/api/v1", "key a", &a);
    origin_identity_make("https://b.example/api/v1", "key a", &b);
    rig->config.backend = &a;
    live_open(&s, rig->root, RIG_ID);
    rig_fill(&s, 3);
    live_close(&s);
    rig_start(rig);
    rig_run(rig, 60000, true);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    remove_file(&s, "scope.log");
    live_line(&s, "scope", "shutdown", 1);
    rig->config.backend = &b;
    for (unsigned i = 0; i < rig->requests; i++) { /* it has another memory */
        free(rig->request[i].raw);
        rig->request[i].raw = NULL;
    }
    for (int i = 0; i < 4; i++) {
        restart(rig);
        rig_run(rig, 600000, false);
        assert_int_equal(rig_summary(rig).sessions_done, 0);
        assert_int_equal(rig_summary(rig).sessions_blocked, 1);
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    }
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_stream_keeps_a_number_of_its_own),
        cmocka_unit_test(a_complete_session_is_so_in_a_journal_that_is_written_anew),
        cmocka_unit_test(a_sealed_file_is_missed_after_several_restarts),
        cmocka_unit_test(what_an_earlier_backend_got_is_missed_after_several_restarts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
