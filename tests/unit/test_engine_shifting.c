/* SPDX-License-Identifier: Apache-2.0 */
/* The journal is lost, and of a session of the 1.1 layout the progress file knows no more
 * than a number and an offset. */
#include "tests/support/check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/rig_backend.h"
#include "tests/support/rig_session.h"

#define MINUTES_MS (60ull * 1000)

static void in_root(const struct rig *rig, const char *script)
{
    char command[1200];
    snprintf(command, sizeof command, "cd '%s' && %s", rig->root, script);
    assert_int_equal(system(command), 0);
}

/* Turns of the engine in so many minutes. */
static unsigned turns_in(struct rig *rig, uint64_t minutes)
{
    unsigned before = rig->loops;
    rig_run(rig, minutes * MINUTES_MS, false);
    return rig->loops - before;
}

/* The progress file names an offset, but not what the file begins with. */
static void a_place_in_an_unknown_file_is_not_looked_for_all_the_time(void **state)
{
    (void)state;
    for (int positions = 0; positions < 2; positions++) {
        struct rig *rig = positions ? rig_positions_on(rig_new()) : rig_new();
        in_root(rig,
                "mkdir " RIG_ID " && for i in 1 2 3; do echo "
                "'{\"type\":\"job_start\",\"n\":'$i'}'; done >" RIG_ID "/device.log");
        rig_start(rig);
        rig_run(rig, 2 * MINUTES_MS, false);
        assert_int_equal(rig_count(rig, positions ? TRANSPORT_PARTS : TRANSPORT_BATCH),
                         1);
        rig_stop(rig);
        in_root(rig, "rm .gpufl-agent/journal* && printf '{\"ty' >" RIG_ID "/device.log");
        rig_start(rig);
        rig_run(rig, 2 * MINUTES_MS, false);
        assert_true(turns_in(rig, 10) < 1000);
        rig_delete(rig);
    }
}

static int some_batches(struct rig *rig, const struct rig_request *r)
{
    return r->kind == TRANSPORT_BATCH && (int)rig_count(rig, TRANSPORT_BATCH) >= rig->mark
               ? 503
               : RIG_REGISTRY;
}

/* Three files of three lines each, of which \p sent lines were sent. They have moved up
 * by one since, and only the progress file is left. */
static struct rig *some_of_nine_in_11(int sent)
{
    struct rig *rig = rig_new();
    rig->config.max_batch_lines = 1;
    rig->answer = some_batches;
    rig->mark = sent;
    in_root(rig, "mkdir " RIG_ID " && cd " RIG_ID " && for i in 0 1 2 3 4 5 6 7 8; do "
                 "t=x; [ $i != 0 ] || t=job_start; "
                 "echo '{\"type\":\"'$t'\",\"n\":'$i'}' >>device.$((2 - i / 3)).log; "
                 "done; mv device.0.log device.log");
    rig_start(rig);
    rig_run(rig, MINUTES_MS, false);
    rig_stop(rig);
    rig->answer = NULL;
    in_root(rig, "rm .gpufl-agent/journal* && cd " RIG_ID " && "
                 "mv device.2.log device.3.log; mv device.1.log device.2.log; "
                 "mv device.log device.1.log; "
                 "echo '{\"type\":\"x\",\"n\":9}' >device.log");
    return rig;
}

static void assert_stored(struct rig *rig, const char *numbers)
{
    char found[256] = "";
    char *stored = rig_stored(rig, RIG_ID, "device");
    for (const char *at = stored; (at = strstr(at, "\"n\":")); at++) {
        strncat(found, at + 4, 1);
    }
    assert_string_equal(found, numbers);
    free(stored);
}

static void a_place_of_which_only_the_number_is_known_is_found_by_that(void **state)
{
    (void)state;
    for (int sent = 4; sent <= 7; sent++) {
        struct rig *rig = some_of_nine_in_11(sent);
        rig_start(rig);
        rig_run(rig, 10 * MINUTES_MS, false);
        assert_stored(rig, "0123456789");
        rig_delete(rig);
    }
}

/* What was sent of it may be in any file that is left. */
static void without_its_first_file_all_that_is_there_is_sent(void **state)
{
    (void)state;
    struct rig *rig = some_of_nine_in_11(5);
    in_root(rig, "rm " RIG_ID "/device.3.log");
    rig_start(rig);
    rig_run(rig, 10 * MINUTES_MS, false);
    assert_stored(rig, "012343456789");
    rig_delete(rig);
}

/* By reads of so many bytes, files are known; they fail while it is set. */
#define HEAD_BYTES 512
static bool reads_fail;

static ssize_t failing_pread(int fd, void *buf, size_t len, off_t at)
{
    if (reads_fail && len == HEAD_BYTES) {
        errno = EIO;
        return -1;
    }
    return sys_real.pread(fd, buf, len, at);
}

static void one_file(const struct rig *rig, const char *name, int from)
{
    char script[300];
    snprintf(script, sizeof script,
             "mkdir -p " RIG_ID " && { [ %d != 0 ] || echo '{\"type\":\"job_start\"}'; "
             "seq -f '{\"type\":\"x\",\"n\":%%g}' %d %d; } >" RIG_ID "/%s",
             from, from, from + 9, name);
    in_root(rig, script);
}

/* Before its first line is known, and when it has moved on to the next file. */
static void a_file_that_cannot_be_read_for_a_while_is_not_taken_for_read(void **state)
{
    (void)state;
    for (int sent = 0; sent < 2; sent++) {
        struct rig *rig = rig_new();
        struct sys sys = *rig->config.sys;
        sys.pread = failing_pread;
        rig->config.sys = &sys;
        one_file(rig, "device.log", 0);
        reads_fail = !sent;
        rig_start(rig);
        if (sent) {
            rig_run(rig, 2 * MINUTES_MS, false);
            reads_fail = true;
            in_root(rig, "mv " RIG_ID "/device.log " RIG_ID "/device.1.log");
            one_file(rig, "device.log", 10);
        }
        rig_run(rig, 5 * MINUTES_MS, false);
        assert_int_equal(rig_count(rig, TRANSPORT_BATCH), sent);
        reads_fail = false;
        rig_run(rig, 5 * MINUTES_MS, false);
        char *all = rig_stored(rig, RIG_ID, "device");
        assert_non_null(strstr(all, sent ? "\"n\":19}" : "\"n\":9}"));
        free(all);
        rig_delete(rig);
    }
}

/* One rotation, and of the next one the first rename alone, before the second file was
 * read. */
static struct rig *half_a_rotation(void)
{
    struct rig *rig = rig_new();
    one_file(rig, "device.log", 0);
    rig_start(rig);
    rig_run(rig, MINUTES_MS, false);
    in_root(rig, "mv " RIG_ID "/device.log " RIG_ID "/device.2.log");
    one_file(rig, "device.log", 10);
    return rig;
}

static void it_is_finished(struct rig *rig)
{
    in_root(rig, "mv " RIG_ID "/device.log " RIG_ID "/device.1.log");
    one_file(rig, "device.log", 20);
    in_root(rig, "for f in " RIG_ID "/[ds]*[me].log; do echo '{\"type\":\"shutdown\"}' "
                 ">>$f; done");
    rig_run(rig, 5 * MINUTES_MS, false);
}

static void it_is_finished_and_whole(struct rig *rig)
{
    it_is_finished(rig);
    char *all = rig_stored(rig, RIG_ID, "device");
    assert_non_null(strstr(all, "\"n\":29}"));
    free(all);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
}

static void a_writer_that_stops_in_the_middle_of_a_rotation_is_waited_for(void **state)
{
    (void)state;
    for (int once = 0; once < 2; once++) {
        struct rig *rig = half_a_rotation();
        rig_stop(rig);
        rig->config.once = once;
        rig_start(rig);
        rig_run(rig, MINUTES_MS / 2, false);
        it_is_finished_and_whole(rig);
        rig_delete(rig);
    }
}

static void one_that_writes_elsewhere_or_is_still_for_minutes_is_not(void **state)
{
    (void)state;
    for (int writes = 0; writes < 2; writes++) {
        struct rig *rig = half_a_rotation();
        for (int s = 0; s < (writes ? 10 : 300); s++) {
            if (writes) {
                in_root(rig, "echo '{\"type\":\"x\"}' >>" RIG_ID "/system.log");
            }
            rig_run(rig, 1000, false);
        }
        it_is_finished(rig); /* which is too late, and said */
        assert_int_equal(rig_summary(rig).sessions_done, 0);
        rig_delete(rig);
    }
}

/* The next file is looked for before an inspection shows what was written. */
static void what_it_wrote_before_does_not_tell_that_it_goes_on(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    one_file(rig, "device.log", 0);
    rig->config.max_batch_lines = 5;
    rig->answer_ms = 4000;
    rig_start(rig);
    rig_run(rig, 11000, false);
    in_root(rig, "mv " RIG_ID "/device.log " RIG_ID "/device.2.log");
    one_file(rig, "device.log", 10);
    rig_run(rig, MINUTES_MS / 2, false);
    it_is_finished_and_whole(rig);
    rig_delete(rig);
}

/* Its files were written long ago. */
static void a_run_on_demand_does_not_wait_for_one_that_was_still(void **state)
{
    (void)state;
    struct rig *rig = half_a_rotation();
    rig_stop(rig);
    in_root(rig, "touch -d '10 minutes ago' " RIG_ID "/*.log");
    rig->config.once = true;
    rig_start(rig);
    rig_run(rig, 5000, false);
    char *all = rig_stored(rig, RIG_ID, "device");
    assert_non_null(strstr(all, "\"n\":19}"));
    free(all);
    rig_delete(rig);
}

/* Their writer has ended, as its last line says. */
static void no_run_waits_for_one_that_has_ended(void **state)
{
    (void)state;
    for (int once = 0; once < 2; once++) {
        struct rig *rig = half_a_rotation();
        rig_stop(rig);
        in_root(rig, "echo '{\"type\":\"shutdown\"}' >>" RIG_ID "/device.log");
        rig->config.once = once;
        rig_start(rig);
        rig_run(rig, 5000, false);
        char *all = rig_stored(rig, RIG_ID, "device");
        assert_non_null(strstr(all, "\"n\":19}"));
        free(all);
        rig_delete(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_cannot_be_read_for_a_while_is_not_taken_for_read),
        cmocka_unit_test(a_writer_that_stops_in_the_middle_of_a_rotation_is_waited_for),
        cmocka_unit_test(what_it_wrote_before_does_not_tell_that_it_goes_on),
        cmocka_unit_test(one_that_writes_elsewhere_or_is_still_for_minutes_is_not),
        cmocka_unit_test(a_run_on_demand_does_not_wait_for_one_that_was_still),
        cmocka_unit_test(no_run_waits_for_one_that_has_ended),
        cmocka_unit_test(a_place_in_an_unknown_file_is_not_looked_for_all_the_time),
        cmocka_unit_test(a_place_of_which_only_the_number_is_known_is_found_by_that),
        cmocka_unit_test(without_its_first_file_all_that_is_there_is_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
