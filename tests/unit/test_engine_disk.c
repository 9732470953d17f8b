/* SPDX-License-Identifier: Apache-2.0 */
/* A disk that fills up just when a certain record is to be written. */
#include "tests/support/check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/rig_backend.h"
#include "tests/support/rig_session.h"
#include "upload/journal/journal_format.h"
#include "upload/journal/journal_records.h"

static enum record_type full_at;
static bool disk_is_full;
static bool writes_half; /* the record is torn, not missing */
static const struct rig *rig_of_disk;
static unsigned requests_before; /* it was full */

static void fill_disk(void)
{
    requests_before = disk_is_full ? requests_before : rig_of_disk->requests;
    disk_is_full = true;
}

static ssize_t pwrite_until_record(int fd, const void *buf, size_t len, off_t at)
{
    enum { TYPE_AT = 20 };
    const unsigned char *record = buf;
    const uint32_t magic = JOURNAL_FRAME_MAGIC;
    bool is_record = len >= JOURNAL_FRAME_BYTES && !memcmp(buf, &magic, sizeof magic);
    if (is_record && record[TYPE_AT] == full_at) {
        bool half = writes_half && !disk_is_full;
        fill_disk();
        if (half) {
            return sys_real.pwrite(fd, buf, len / 2, at);
        }
    }
    if (disk_is_full) {
        errno = ENOSPC;
        return -1;
    }
    return sys_real.pwrite(fd, buf, len, at);
}

/* An engine on an ended session, until its disk is full at that record. */
static struct rig *rig_full_with(enum record_type type, bool half,
                                 int (*answer)(struct rig *, const struct rig_request *))
{
    static struct sys sys;
    struct rig *rig = rig_ended_session(20);
    sys = *rig->config.sys;
    sys.pwrite = pwrite_until_record;
    rig->config.sys = &sys;
    rig->config.max_batch_lines = 8;
    rig->answer = answer;
    rig_of_disk = rig;
    disk_is_full = false;
    writes_half = half;
    full_at = (enum record_type)0;
    rig_start(rig);
    full_at = type;
    for (int i = 0; i < 1000 && !disk_is_full; i++) {
        rig_run(rig, 10, false);
    }
    assert_true(disk_is_full);
    return rig;
}

static struct rig *rig_full_at(enum record_type type, bool half)
{
    return rig_full_with(type, half, NULL);
}

/* Each number of a channel has been sent under one id only. */
static void same_ids(const struct rig *rig)
{
    for (unsigned i = 0; i < rig->requests; i++) {
        for (unsigned k = 0; k < i; k++) {
            const struct rig_request *a = &rig->request[i];
            const struct rig_request *b = &rig->request[k];
            if (a->kind == TRANSPORT_BATCH && b->kind == TRANSPORT_BATCH &&
                a->sequence == b->sequence && strcmp(a->channel, b->channel) == 0) {
                assert_string_equal(a->id, b->id);
            }
        }
    }
}

static void make_room(struct rig *rig, bool crash)
{
    if (crash) {
        rig_stop(rig);
    }
    disk_is_full = false;
    full_at = (enum record_type)0;
    if (crash) {
        rig_start(rig);
    }
    rig_run(rig, 600000, true);
}

static void what_cannot_be_noted_is_done_once_there_is_room(void **state)
{
    (void)state;
    static const enum record_type type[] = {
        JOURNAL_STREAM, JOURNAL_OFFER, JOURNAL_ATTEMPT, JOURNAL_SETTLED, JOURNAL_DONE};
    for (unsigned i = 0; i < 4 * sizeof type / sizeof *type; i++) {
        struct rig *rig = rig_full_at(type[i / 4], i & 2);
        rig_run(rig, 60000, false);
        assert_int_equal(rig->requests, requests_before);
        assert_int_equal(rig_summary(rig).sessions_done, 0);
        assert_int_equal(rig_summary(rig).hold, HOLD_JOURNAL);
        make_room(rig, i & 1);
        rig_all_same(rig, RIG_ID);
        same_ids(rig);
        assert_int_equal(rig_summary(rig).sessions_done, 1);
        assert_int_equal(rig_summary(rig).ranges_quarantined, 0);
        rig_delete(rig);
    }
}

/* As a backend without window registry that has closed the session. */
static int closed_to_what_it_has(struct rig *rig, const struct rig_request *r)
{
    rig->reply_body = "session already finalized";
    return r->kind == TRANSPORT_BATCH && rig_knows(rig, r) ? 409 : RIG_REGISTRY;
}

static void a_success_that_could_not_be_noted_stays_one(void **state)
{
    (void)state;
    for (int crash = 0; crash < 2; crash++) {
        struct rig *rig = rig_full_at(JOURNAL_SETTLED, false);
        rig->answer = closed_to_what_it_has;
        rig_run(rig, 60000, false);
        make_room(rig, crash);
        rig_all_same(rig, RIG_ID);
        assert_int_equal(rig_summary(rig).lines_refused_final, 0);
        assert_int_equal(rig_summary(rig).sessions_done, 1);
        rig_delete(rig);
    }
}

/* The backend takes the first batch but for two lines, and when that is repeated says
 * only that it has it. */
static int rejects_once(struct rig *rig, const struct rig_request *r)
{
    rig->reply_body = "{\"accepted\":6,\"rejected\":2}";
    bool first = r->kind == TRANSPORT_BATCH && strcmp(r->channel, "scope") == 0 &&
                 rig->mark++ == 0;
    return first ? 202 : RIG_REGISTRY;
}

static void a_rejection_that_could_not_be_noted_is_not_forgotten(void **state)
{
    (void)state;
    struct rig *rig = rig_full_with(JOURNAL_SETTLED, false, rejects_once);
    rig_run(rig, 60000, false);
    assert_int_equal(rig_summary(rig).lines_rejected, 0);
    make_room(rig, false);
    for (int run = 0; run < 2; run++) {
        assert_int_equal(rig_summary(rig).lines_rejected, run == 0 ? 2 : 0);
        assert_int_equal(rig_summary(rig).sessions_done, 0);
        assert_int_equal(rig_summary(rig).sessions_blocked, 1);
        rig_stop(rig);
        rig_start(rig);
        rig_run(rig, 60000, false);
    }
    rig_delete(rig);
}

/* A complete session is not opened again while that cannot be journalled. */
static void growth_that_is_seen_while_the_disk_is_full_is_sent_later(void **state)
{
    (void)state;
    static struct sys sys;
    char dir[600];
    struct rig *rig = rig_ended_session(5);
    sys = *rig->config.sys;
    sys.pwrite = pwrite_until_record;
    rig->config.sys = &sys;
    rig_of_disk = rig;
    disk_is_full = false;
    full_at = (enum record_type)0;
    rig_start(rig);
    rig_run(rig, 90000, false);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    disk_is_full = true;
    snprintf(dir, sizeof dir, "%s/" RIG_ID, rig->root);
    dirs_append(dir, "device.log", "{\"type\":\"x\",\"n\":9}\n");
    rig_run(rig, 180000, false);
    assert_int_equal(rig_summary(rig).state_write_errors > 0, 1);
    disk_is_full = false;
    rig_run(rig, 180000, false);
    rig_all_same(rig, RIG_ID);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_be_noted_is_done_once_there_is_room),
        cmocka_unit_test(a_success_that_could_not_be_noted_stays_one),
        cmocka_unit_test(a_rejection_that_could_not_be_noted_is_not_forgotten),
        cmocka_unit_test(growth_that_is_seen_while_the_disk_is_full_is_sent_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
