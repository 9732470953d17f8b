/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges that were refused stay in their files, and are listed while they are. */
#include "tests/support/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/uuid.h"
#include "schema/protocol.h"
#include "tests/support/rig_backend.h"
#include "tests/support/rig_session.h"
#include "upload/journal/journal_format.h"
#include "upload/journal/journal_read.h"
#include "upload/resolve/quarantine.h"
#include "upload/resolve/resolve.h"

static bool is_there(const struct live_session *s, const char *name)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", s->dir, name);
    return access(path, F_OK) == 0;
}

/* How many ranges `gpufl quarantine list` finds, which reads the journal only. */
static unsigned listed_ranges(const struct rig *rig)
{
    struct journal_read journal;
    struct quarantined range;
    unsigned count = 0;
    int root = open(rig->root, O_RDONLY | O_DIRECTORY);
    assert_int_equal(journal_read_open(&sys_real, NULL, root, rig->root, &journal),
                     GPUFL_OK);
    while (quarantine_in_journal(&journal, count, &range)) {
        count++;
    }
    assert_int_equal(count, journal.quarantine.count);
    journal_read_fini(&journal);
    close(root);
    return count;
}

/* How many lines of a channel the journal says to be stored. */
static unsigned lines_settled(const struct rig *rig, const char *channel)
{
    struct journal_read journal;
    unsigned lines = 0;
    int root = open(rig->root, O_RDONLY | O_DIRECTORY);
    assert_int_equal(journal_read_open(&sys_real, NULL, root, rig->root, &journal),
                     GPUFL_OK);
    for (size_t i = 0; i < journal.streams; i++) {
        const struct record_stream *record = &journal.stream[i].record;
        lines += strcmp(record->channel, channel) == 0 ? (unsigned)record->lines : 0;
    }
    journal_read_fini(&journal);
    close(root);
    return lines;
}

static void a_channel_that_begins_with_a_refused_range_keeps_its_file(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    struct quarantined range;
    rig->config.delete_acked = DELETE_ALL;
    live_open(&s, rig->root, RIG_ID);
    dirs_append(s.dir, "device.1.log", "{\"type\":\"job_start\",\"torn");
    dirs_append(s.dir, "device.2.log", "{\"type\":\"x\"}\n");
    dirs_append(s.dir, "device.3.log", "{\"type\":\"x\"}\n");
    live_close(&s);
    rig_start(rig);
    rig_run(rig, 600000, false);
    assert_false(is_there(&s, "device.2.log"));
    assert_true(is_there(&s, "device.1.log"));
    assert_int_equal(listed_ranges(rig), 1);
    rig_stop(rig);
    rig_start(rig);
    rig_run(rig, 600000, false);
    assert_true(quarantine_at(rig->engine, 0, &range));
    assert_string_equal(range.channel, "device");
    assert_int_equal(rig_summary(rig).sessions_done, 0);
    rig_delete(rig);
}

/* Refuses line 3 of "scope" while rig->mark says so. */
static int refuse_third(struct rig *rig, const struct rig_request *r)
{
    bool third = r->kind == TRANSPORT_BATCH && strcmp(r->channel, "scope") == 0 &&
                 strstr(r->raw, "\"n\":3}");
    rig->reply_body = "session already finalized";
    return third && rig->mark ? rig->mark : RIG_REGISTRY;
}

/* A disk that is full just when it is to be noted how a range was settled. */
static enum settled_how refused_how;
static bool disk_is_full;
static ssize_t pwrite_until_refused(int fd, const void *buf, size_t len, off_t at)
{
    enum { TYPE_AT = 20, HOW_AT = JOURNAL_FRAME_BYTES + 24 };
    const unsigned char *record = buf;
    const uint32_t magic = JOURNAL_FRAME_MAGIC;
    if (len > HOW_AT && !memcmp(buf, &magic, sizeof magic) &&
        record[TYPE_AT] == JOURNAL_SETTLED &&
        record[HOW_AT] == (unsigned char)refused_how) {
        disk_is_full = true;
    }
    if (disk_is_full) {
        errno = ENOSPC;
        return -1;
    }
    return sys_real.pwrite(fd, buf, len, at);
}

/* An engine on an ended session, until a range is settled so, which cannot be noted: the
 * disk is full then. */
static struct rig *rig_unnoted(int lines,
                               int (*answer)(struct rig *, const struct rig_request *),
                               int mark, enum settled_how how)
{
    static struct sys sys;
    struct rig *rig = rig_ended_session(lines);
    sys = *rig->config.sys;
    sys.pwrite = pwrite_until_refused;
    rig->config.sys = &sys;
    rig->answer = answer;
    rig->mark = mark;
    refused_how = how;
    disk_is_full = false;
    rig_start(rig);
    while (!disk_is_full) {
        rig_run(rig, 100, false);
    }
    return rig;
}

/* … whose third line of "scope" is refused with \p status. */
static struct rig *rig_refused_unnoted(int status, enum settled_how how)
{
    return rig_unnoted(5, refuse_third, status, how);
}

/* There is room again, with or without a crash before; \p status is answered now. */
static void go_on(struct rig *rig, bool crash, int status)
{
    if (crash) {
        rig_stop(rig);
    }
    rig->mark = status;
    disk_is_full = false;
    refused_how = (enum settled_how)99;
    if (crash) {
        rig_start(rig);
    }
    rig_run(rig, 600000, false);
}

/* Under which id the refused line was offered by itself, first and last. */
static const char *refused_id(const struct rig *rig, bool first)
{
    const char *id = NULL;
    for (unsigned i = 0; i < rig->requests; i++) {
        const struct rig_request *r = &rig->request[i];
        if (r->status == 400 && r->lines == 1 && !(first && id)) {
            id = r->id;
        }
    }
    assert_non_null(id);
    return id;
}

static void a_range_that_is_refused_again_is_listed_once(void **state)
{
    (void)state;
    for (int crash = 0; crash < 2; crash++) {
        struct rig *rig = rig_refused_unnoted(400, SETTLED_QUARANTINED);
        go_on(rig, crash, 400);
        assert_int_equal(rig_summary(rig).ranges_quarantined, 1);
        assert_int_equal(listed_ranges(rig), 1);
        assert_int_equal(rig_summary(rig).sessions_done, 0);
        assert_string_equal(refused_id(rig, true), refused_id(rig, false));
        rig_delete(rig);
    }
}

static void a_range_that_is_stored_after_all_is_in_no_quarantine(void **state)
{
    (void)state;
    for (int crash = 0; crash < 2; crash++) {
        struct rig *rig = rig_refused_unnoted(400, SETTLED_QUARANTINED);
        assert_int_equal(listed_ranges(rig), 0);
        go_on(rig, crash, 0);
        rig_all_same(rig, RIG_ID);
        assert_int_equal(rig_summary(rig).ranges_quarantined, 0);
        assert_int_equal(listed_ranges(rig), 0);
        assert_int_equal(rig_summary(rig).sessions_done, 1);
        rig_delete(rig);
    }
}

static void a_refusal_that_could_not_be_noted_is_one_when_it_is_repeated(void **state)
{
    (void)state;
    for (int crash = 0; crash < 2; crash++) {
        struct rig *rig = rig_refused_unnoted(409, SETTLED_REFUSED_FINAL);
        go_on(rig, crash, 409);
        assert_int_equal(rig_summary(rig).lines_refused_final, 6);
        assert_int_equal(rig_summary(rig).sessions_done, 0);
        rig_delete(rig);
    }
}

static void a_released_range_blocks_its_session_no_longer(void **state)
{
    (void)state;
    for (int stored = 0; stored < 2; stored++) {
        struct rig *rig = rig_ended_session(5);
        struct quarantined range;
        char id[UUID_TEXT];
        rig->answer = refuse_third;
        rig->mark = 400;
        rig_start(rig);
        rig_run(rig, 600000, false);
        assert_int_equal(rig_summary(rig).sessions_blocked, 1);
        assert_true(quarantine_at(rig->engine, 0, &range));
        uuid_format(range.record.id, id);
        assert_string_equal(id, refused_id(rig, true)); /* a retry is the same batch */
        assert_int_equal(quarantine_release(rig->engine, &range, stored), GPUFL_OK);
        assert_false(quarantine_at(rig->engine, 0, &range));
        rig_run(rig, 600000, false);
        assert_int_equal(rig_summary(rig).sessions_done, 1);
        assert_int_equal(lines_settled(rig, "scope"), 6 + stored);
        rig_stop(rig);
        rig_start(rig);
        rig_run(rig, 600000, false);
        assert_int_equal(rig_summary(rig).sessions_done, 1);
        assert_int_equal(lines_settled(rig, "scope"), 6 + stored);
        rig_delete(rig);
    }
}

/* As if it had ended between the release and what follows from it. */
static void a_released_range_is_so_after_a_crash(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(5);
    struct quarantined range;
    rig->answer = refuse_third;
    rig->mark = 400;
    rig_start(rig);
    rig_run(rig, 600000, false);
    assert_true(quarantine_at(rig->engine, 0, &range));
    assert_int_equal(quarantine_release(rig->engine, &range, true), GPUFL_OK);
    rig_stop(rig);
    rig_start(rig);
    rig_run(rig, 600000, false);
    assert_int_equal(rig_summary(rig).ranges_quarantined, 0);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    assert_int_equal(lines_settled(rig, "scope"), 7);
    rig_delete(rig);
}

static int number_is_taken(struct rig *rig, const struct rig_request *r)
{
    rig->reply_body = PROTOCOL_SEQUENCE_CONFLICT;
    return r->kind == TRANSPORT_BATCH && strcmp(r->channel, "scope") == 0 &&
                   r->sequence == 1
               ? 409
               : RIG_REGISTRY;
}

static void a_batch_whose_number_another_one_has_is_kept_back(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(5);
    rig->answer = number_is_taken;
    rig_start(rig);
    rig_run(rig, 600000, false);
    assert_int_equal(rig_summary(rig).ranges_quarantined, 1);
    assert_int_equal(rig_summary(rig).sessions_done, 0);
    assert_int_equal(rig_summary(rig).lines_acked, 3 * 7 - 6);
    rig_delete(rig);
}

static void a_stored_batch_that_could_not_be_noted_is_stored_once(void **state)
{
    (void)state;
    for (int crash = 0; crash < 2; crash++) {
        struct rig *rig = rig_unnoted(15, rig_lose_then_too_large, 0, SETTLED_UNPROVEN);
        go_on(rig, crash, 5);
        rig_all_same(rig, RIG_ID);
        assert_int_equal(rig_summary(rig).ranges_quarantined, 0);
        assert_int_equal(rig_summary(rig).sessions_done, 1);
        rig_delete(rig);
    }
}

static void a_session_that_is_given_up_hides_no_range_of_another(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct resolve_result result;
    struct quarantined range;
    char moved[600];
    struct live_session s[2];
    for (int i = 0; i < 2; i++) {
        live_open(&s[i], rig->root, i ? RIG_ID2 : RIG_ID);
        dirs_append(s[i].dir, "device.log", "{\"type\":\"job_start\",\"torn");
        live_close(&s[i]);
    }
    rig_start(rig);
    rig_run(rig, 60000, false);
    assert_int_equal(listed_ranges(rig), 2);
    assert_true(quarantine_at(rig->engine, 0, &range));
    const struct live_session *first =
        strcmp(range.session, s[0].id) == 0 ? &s[0] : &s[1];
    snprintf(moved, sizeof moved, "%s/.moved", rig->root);
    assert_int_equal(rename(first->dir, moved), 0);
    rig_run(rig, 600000, false);
    resolve_in_first_root(rig->engine, first->id, NULL, &result);
    assert_ptr_equal(strstr(result.text, "forgotten"), result.text);
    rig_run(rig, 60000, false);
    assert_int_equal(rig_summary(rig).ranges_quarantined, 1);
    assert_int_equal(listed_ranges(rig), 1);
    assert_true(quarantine_at(rig->engine, 0, &range));
    assert_string_not_equal(range.session, first->id);
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_channel_that_begins_with_a_refused_range_keeps_its_file),
        cmocka_unit_test(a_range_that_is_refused_again_is_listed_once),
        cmocka_unit_test(a_range_that_is_stored_after_all_is_in_no_quarantine),
        cmocka_unit_test(a_refusal_that_could_not_be_noted_is_one_when_it_is_repeated),
        cmocka_unit_test(a_released_range_blocks_its_session_no_longer),
        cmocka_unit_test(a_released_range_is_so_after_a_crash),
        cmocka_unit_test(a_batch_whose_number_another_one_has_is_kept_back),
        cmocka_unit_test(a_stored_batch_that_could_not_be_noted_is_stored_once),
        cmocka_unit_test(a_session_that_is_given_up_hides_no_range_of_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
