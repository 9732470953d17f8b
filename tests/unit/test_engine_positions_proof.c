/* SPDX-License-Identifier: Apache-2.0 */
/* The files from which the end of a stream is to be proved cannot be read, or are not
 * those of the session: nothing follows from that. */
#include "tests/support/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/rig_session.h"
#include "upload/core/session.h"
#include "upload/resolve/resolve.h"

#define MINUTES_MS (60ull * 1000)

/* What becomes of reads, but of nothing else that looks at the session. */
static struct {
    struct sys sys;
    enum { READS_ARE_GOOD, READS_FAIL, READ_ANOTHER, READ_NONE } how;
} disk;

static int proof_open(int dir, const char *path, int flags, mode_t mode)
{
    bool reads = strcmp(path, RIG_ID) == 0 && flags & O_PATH;
    if (reads && disk.how == READ_NONE) {
        errno = ENOENT;
        return -1;
    }
    return sys_real.open_beneath(dir, reads && disk.how == READ_ANOTHER ? ".f" : path,
                                 flags, mode);
}

static ssize_t proof_pread(int fd, void *buf, size_t len, off_t at)
{
    ssize_t n = sys_real.pread(fd, buf, len, at);
    if (disk.how == READS_FAIL && n > 8 && memcmp(buf, "{\"type\":", 8) == 0) {
        errno = EIO;
        return -1;
    }
    return n;
}

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

static struct rig *proof_begin(struct live_session *s)
{
    struct rig *rig = rig_positions_on(rig_new());
    disk.sys = *rig->config.sys;
    disk.sys.open_beneath = proof_open;
    disk.sys.pread = proof_pread;
    disk.how = READS_ARE_GOOD;
    rig->config.sys = &disk.sys;
    live_open(s, rig->root, RIG_ID);
    live_line(s, "device", "job_start", 0);
    lines(s, 1, 30);
    rig_start(rig);
    rig_run(rig, MINUTES_MS, false);
    assert_int_equal(device(rig)->end.at.lines, 30);
    return rig;
}

static void proof_run_script(const struct rig *rig, const char *script)
{
    char command[1200];
    snprintf(command, sizeof command, "cd '%s' && %s", rig->root, script);
    assert_int_equal(system(command), 0);
}

/* Another user's, which may take the place of the session's at each look. */
static void proof_forge(const struct rig *rig)
{
    proof_run_script(rig, "cp -a " RIG_ID " .f && sed -i s/x/y/ .f/device.log && "
                          "chown -R 12345 .f");
}

static bool is_held(struct rig *rig, enum held_reason reason)
{
    char *progress = rig_file(rig, ".gpufl-agent/progress");
    bool held = strstr(progress, held_text(reason)) != NULL;
    free(progress);
    return held;
}

static void assert_complete(struct rig *rig, bool complete)
{
    assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), complete);
    assert_int_equal(rig_summary(rig).sessions_done, complete);
}

static void an_end_is_not_judged_by_files_of_another_directory(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    for (int how = READ_ANOTHER; how <= READ_NONE; how++) {
        struct live_session s;
        struct rig *rig = proof_begin(&s);
        live_line(&s, "device", "shutdown", 30);
        live_close(&s);
        rig_stop(rig);
        rig_lose_journal(rig);
        proof_forge(rig);
        disk.how = how;
        rig_start(rig);
        rig_run(rig, 5 * MINUTES_MS, false);
        assert_int_equal(device(rig)->end.at.lines, 30);
        assert_int_equal(rig_summary(rig).sessions_blocked, 0);
        assert_int_equal(rig_count(rig, TRANSPORT_ENDS), 2);
        disk.how = READS_ARE_GOOD;
        rig_run(rig, 30000, false);
        rig_same_as_file(rig, RIG_ID, "device");
        assert_complete(rig, true);
        rig_delete(rig);
    }
}

/* No claim is taken. */
static int refuse_claims(struct rig *rig, const struct rig_request *r)
{
    (void)rig;
    return r->kind == TRANSPORT_COMPLETE ? 503 : RIG_REGISTRY;
}

static struct rig *proof_before_claim(struct live_session *s)
{
    struct rig *rig = proof_begin(s);
    rig->answer = refuse_claims;
    live_line(s, "device", "shutdown", 30);
    live_close(s);
    engine_rescan(rig->engine);
    rig_run(rig, 10000, false);
    rig_same_as_file(rig, RIG_ID, "device");
    assert_true(rig_count(rig, TRANSPORT_COMPLETE) > 0);
    return rig;
}

/* What others change again and again keeps an upload waiting only for what was there. */
static void what_is_compared_counts_up_to_what_was_there(void **state)
{
    (void)state;
    struct live_session s;
    struct stat st;
    char path[700];
    struct rig *rig = proof_begin(&s);
    rig_stop(rig);
    proof_run_script(rig, "rm -r .gpufl-agent");
    snprintf(path, sizeof path, "%s/" RIG_ID "/device.log", rig->root);
    assert_int_equal(stat(path, &st), 0);
    rig_start(rig);
    rig_run(rig, 1000, false);
    assert_true(rig_summary(rig).compared_bytes >= (uint64_t)st.st_size);
    struct session *session = session_find(rig->engine->root[0], RIG_ID);
    uint64_t there = 32 * 512 * (uint64_t)st.st_blocks;
    for (unsigned n = 0; n < 100; n++) {
        session_note_compared(session, there);
    }
    assert_int_equal(rig_summary(rig).compared_bytes, there);
    live_close(&s);
    rig_delete(rig);
}

static void the_last_file_is_not_judged_by_that_of_another_directory(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    for (int how = READ_ANOTHER; how <= READ_NONE; how++) {
        struct live_session s;
        struct rig *rig = proof_before_claim(&s);
        unsigned asked = rig_count(rig, TRANSPORT_ENDS);
        unsigned claimed = rig_count(rig, TRANSPORT_COMPLETE);
        proof_forge(rig);
        disk.how = how;
        rig->answer = NULL;
        rig_run(rig, 5 * MINUTES_MS, false);
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), claimed);
        disk.how = READS_ARE_GOOD;
        rig_run(rig, 2 * MINUTES_MS, false);
        assert_complete(rig, true);
        assert_int_equal(rig_count(rig, TRANSPORT_ENDS), asked);
        rig_delete(rig);
    }
}

static void a_last_file_that_cannot_be_read_is_not_another_one(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = proof_before_claim(&s);
    unsigned asked = rig_count(rig, TRANSPORT_ENDS);
    disk.how = READS_FAIL;
    rig->answer = NULL;
    rig_run(rig, 5 * MINUTES_MS, false);
    assert_true(is_held(rig, HELD_UNREADABLE));
    assert_complete(rig, false);
    disk.how = READS_ARE_GOOD;
    rig_run(rig, 2 * MINUTES_MS, false);
    assert_complete(rig, true);
    assert_int_equal(rig_count(rig, TRANSPORT_ENDS), asked);
    rig_delete(rig);
}

/* The reason why it was asked for is not why it is held. */
static void a_proof_that_cannot_be_read_says_so_and_is_tried_again(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = proof_begin(&s);
    char path[700];
    snprintf(path, sizeof path, "%s/device.log", s.dir);
    rig_stop(rig);
    char *file = rig_file(rig, RIG_ID "/device.log");
    assert_int_equal(truncate(path, 100), 0);
    disk.how = READS_FAIL;
    rig_start(rig);
    rig_run(rig, 5 * MINUTES_MS, false);
    assert_true(is_held(rig, HELD_UNREADABLE));
    disk.how = READS_ARE_GOOD;
    rig_run(rig, 2 * MINUTES_MS, false);
    assert_false(is_held(rig, HELD_UNREADABLE));
    dirs_append(s.dir, "device.log", file + 100);
    free(file);
    live_line(&s, "device", "shutdown", 30);
    live_close(&s);
    engine_rescan(rig->engine);
    rig_run(rig, 5 * MINUTES_MS, false);
    rig_same_as_file(rig, RIG_ID, "device");
    assert_complete(rig, true);
    rig_delete(rig);
}

/* It is as large as what was sent, so nothing but the epoch makes anybody look. */
static void a_complete_session_is_not_claimed_with_the_directory_of_another(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    struct live_session s;
    struct rig_positions backup = {0};
    struct rig *rig = proof_begin(&s);
    rig_positions_copy(&backup, &rig->positions);
    live_line(&s, "device", "shutdown", 30);
    live_close(&s);
    engine_rescan(rig->engine);
    rig_run(rig, 5 * MINUTES_MS, false);
    assert_complete(rig, true);
    rig_stop(rig);
    proof_forge(rig);
    proof_run_script(rig, "mv " RIG_ID " .kept && mv .f " RIG_ID);
    rig_positions_copy(&rig->positions, &backup);
    rig->positions.epoch = 2;
    rig->version_body = "{\"supported\":[\"1\"],\"encodings\":[\"zstd\",\"gzip\"],"
                        "\"positions\":true,\"epoch\":\"2\"}";
    rig_start(rig);
    rig_run(rig, 60 * MINUTES_MS, false);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    assert_int_equal(rig_summary(rig).sessions_blocked, 1);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    proof_run_script(rig, "rm -r " RIG_ID " && mv .kept " RIG_ID);
    rig_run(rig, 60 * MINUTES_MS, false);
    assert_complete(rig, true);
    rig_same_as_file(rig, RIG_ID, "device");
    rig_positions_fini(&backup);
    rig_delete(rig);
}

static void begin_epoch(struct rig *rig)
{
    rig->positions.epoch = 2;
    rig->version_body = "{\"supported\":[\"1\"],\"encodings\":[\"zstd\",\"gzip\"],"
                        "\"positions\":true,\"epoch\":\"2\"}";
}

static void go_back(struct rig *rig, const struct rig_positions *backup)
{
    rig_positions_copy(&rig->positions, backup);
    begin_epoch(rig);
}

/* A person gave up what is left of the file, and the backend has less of it since. */
static void an_end_in_a_file_that_was_given_up_is_not_asked_for_all_the_time(void **state)
{
    (void)state;
    struct rig_positions backup = {0};
    struct live_session s;
    struct resolve_result result;
    struct rig *rig = proof_begin(&s);
    rig_positions_copy(&backup, &rig->positions);
    lines(&s, 30, 40);
    rig_run(rig, MINUTES_MS, false);
    assert_int_equal(device(rig)->end.at.lines, 40);
    disk.how = READS_FAIL;
    lines(&s, 40, 41);
    rig_run(rig, 5 * MINUTES_MS, false);
    assert_true(is_held(rig, HELD_UNREADABLE));
    resolve_in_first_root(rig->engine, RIG_ID, "device", &result);
    assert_int_equal(result.given_up, 1);
    rig_run(rig, 5 * MINUTES_MS, false);
    go_back(rig, &backup);
    rig_run(rig, 20 * MINUTES_MS, false);
    unsigned loops = rig->loops;
    unsigned asked = rig_count(rig, TRANSPORT_ENDS);
    rig_run(rig, 10 * MINUTES_MS, false);
    assert_true(rig->loops - loops < 1000);
    assert_true(rig_count(rig, TRANSPORT_ENDS) - asked <= 10);
    assert_true(is_held(rig, HELD_UNREADABLE));
    rig_stop(rig); /* and what a person says next, another process is told */
    rig_start(rig);
    resolve_in_first_root(rig->engine, RIG_ID, "device", &result);
    assert_int_equal(result.given_up, 1);
    rig_stop(rig);
    live_close(&s);
    rig_start(rig);
    rig_run(rig, 10 * MINUTES_MS, false);
    assert_int_equal(device(rig)->end.at.lines, 30);
    assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), 2);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_positions_fini(&backup);
    rig_delete(rig);
}

static struct rig_positions replica;

/* Keeps what the backend had before the second file, and tells the ends as of then once
 * the test says so: it reads from a replica that lags behind. */
static int lag(struct rig *rig, const struct rig_request *r)
{
    struct text answer = {0};
    if (r->kind == TRANSPORT_PARTS && device(rig)->end.at.file == 1) {
        rig_positions_copy(&replica, &rig->positions);
    }
    if (r->kind != TRANSPORT_ENDS || !rig->mark) {
        return RIG_REGISTRY;
    }
    replica.epoch = rig->positions.epoch;
    int status = rig_positions_ends(&replica, r->session, &answer);
    text_append(&answer, "", 1);
    rig->request[rig->requests].answer = answer.data;
    return status;
}

/* The files between that end and the true one were delivered, and deleted. */
static void an_end_that_lags_behind_is_no_loss(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = rig_positions_on(rig_new());
    replica = (struct rig_positions){0};
    rig->answer = lag;
    rig->config.delete_acked = DELETE_ALL;
    live_open(&s, rig->root, RIG_ID);
    for (unsigned file = 1; file <= 2; file++) {
        lines(&s, 10 * (int)file - 10, 10 * (int)file);
        live_rotate(&s, "device", file);
    }
    dirs_append(s.dir, "device.log", "");
    rig_start(rig);
    rig_run(rig, 5 * MINUTES_MS, false);
    assert_int_equal(device(rig)->end.at.file, 2);
    rig->mark = 1;
    begin_epoch(rig);
    rig_run(rig, 20 * MINUTES_MS, false);
    rig->mark = 0;
    lines(&s, 20, 30);
    live_line(&s, "device", "shutdown", 30);
    live_close(&s);
    engine_rescan(rig->engine);
    rig_run(rig, 20 * MINUTES_MS, false);
    assert_int_equal(device(rig)->end.losses, 0);
    assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), 1);
    rig_positions_fini(&replica);
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_end_is_not_judged_by_files_of_another_directory),
        cmocka_unit_test(what_is_compared_counts_up_to_what_was_there),
        cmocka_unit_test(the_last_file_is_not_judged_by_that_of_another_directory),
        cmocka_unit_test(a_last_file_that_cannot_be_read_is_not_another_one),
        cmocka_unit_test(a_proof_that_cannot_be_read_says_so_and_is_tried_again),
        cmocka_unit_test(a_complete_session_is_not_claimed_with_the_directory_of_another),
        cmocka_unit_test(
            an_end_in_a_file_that_was_given_up_is_not_asked_for_all_the_time),
        cmocka_unit_test(an_end_that_lags_behind_is_no_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
