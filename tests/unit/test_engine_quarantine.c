/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges that were refused stay in their files, and are listed while they are. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/rig_session.h"
#include "upload/engine/quarantine.h"
#include "upload/journal/journal_read.h"

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
    assert_int_equal(count, journal.quarantines);
    journal_read_fini(&journal);
    close(root);
    return count;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_channel_that_begins_with_a_refused_range_keeps_its_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
