/* SPDX-License-Identifier: Apache-2.0 */
/* Directories that seem to have another uploader: anybody can make very many, and each
 * hides the sessions in it. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "collector-lib/core/session_dir.h"
#include "tests/support/dirs.h"
#include "tests/support/ended_sessions.h"
#include "tests/support/rig_session.h"
#include "upload/core/registry.h"
#include "upload/published/progress_file.h"

#define MANY   40u
#define OF_ONE 16u
#define OTHER  12345u

static unsigned said;
static unsigned said_more;

static void count_line(void *arg, enum log_level level, const char *line)
{
    (void)arg;
    (void)level;
    said += strstr(line, "scan.other_root ") != NULL;
    said_more += strstr(line, "scan.other_roots ") != NULL;
}

static void make_group(const struct rig *rig, const char *name, uid_t owner)
{
    char path[700];
    snprintf(path, sizeof path, "%s/%s", rig->root, name);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_true(geteuid() != 0 || chown(path, owner, owner) == 0);
}

static void make_journal(const struct rig *rig, const char *group)
{
    char path[800];
    snprintf(path, sizeof path, "%s/%s/.gpufl-agent", rig->root, group);
    assert_int_equal(mkdir(path, 0755), 0);
}

struct told {
    unsigned named;
    unsigned more;
    bool of_victim;
};

static void told_note(void *arg, const struct progress_note *note)
{
    struct told *told = arg;
    told->named += strstr(note->text, "skipped") != NULL;
    told->more += note->more;
    told->of_victim = told->of_victim || strcmp(note->path, "victim") == 0;
}

static struct told told_of(const struct rig *rig)
{
    struct told told = {0, 0, false};
    progress_notes(&sys_real, ended_root(rig)->fd, told_note, &told);
    return told;
}

static void each_is_counted_and_some_of_each_owner_are_named(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip(); /* several owners */
    }
    static const struct log counted = {.level = LOG_AT_DEBUG, .write = count_line};
    struct rig *rig = rig_new();
    char group[64];
    char path[700];
    said = said_more = 0;
    rig->config.log = &counted;
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(group, sizeof group, "planted-%u", i);
        make_group(rig, group, OTHER);
        make_journal(rig, group);
    }
    rig_start(rig);
    rig_run(rig, 25000, false);
    make_group(rig, "victim", 0);
    make_journal(rig, "victim");
    snprintf(path, sizeof path, "%s/victim", rig->root);
    ended_make(path, 0, 1);
    rig_run(rig, 120000, false);
    struct told told = told_of(rig);
    assert_int_equal(rig_summary(rig).directories_skipped, MANY + 1);
    assert_int_equal(told.named, OF_ONE + 1);
    assert_int_equal(told.more, MANY - OF_ONE);
    assert_true(told.of_victim);
    assert_int_equal(said, OF_ONE + 1);
    assert_int_equal(said_more, 1);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), 0);
    snprintf(path, sizeof path, "%s/victim/.gpufl-agent", rig->root);
    assert_int_equal(rmdir(path), 0);
    rig_run(rig, 120000, false);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    assert_int_equal(rig_summary(rig).directories_skipped, MANY);
    assert_false(told_of(rig).of_victim);
    rig_delete(rig);
}

static void one_that_is_unlocked_is_served(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    char group[700];
    make_group(rig, "locked", 0);
    snprintf(group, sizeof group, "%s/locked", rig->root);
    ended_make(group, 0, 1);
    int fd = open(group, O_RDONLY | O_DIRECTORY);
    assert_true(fd >= 0 && flock(fd, LOCK_EX) == 0);
    rig_start(rig);
    rig_run(rig, 70000, false);
    assert_int_equal(rig_summary(rig).directories_skipped, 1);
    assert_int_equal(told_of(rig).named, 1);
    close(fd);
    rig_run(rig, 70000, false);
    assert_int_equal(rig_summary(rig).directories_skipped, 0);
    assert_int_equal(told_of(rig).named, 0);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_delete(rig);
}

/* A live session's directory is moved away, and another root is in its place. */
static void one_in_the_place_of_a_session_is_not_listed_without_pause(void **state)
{
    (void)state;
    struct session_dir dir = {0};
    char away[700], journal[5000];
    struct rig *rig = rig_new();
    assert_int_equal(session_dir_open(&dir, rig->root), GPUFL_OK);
    assert_int_equal(session_dir_append(&dir, CHANNEL_DEVICE, "{}\n", 3), 3);
    rig_start(rig);
    rig_run(rig, 5000, false);
    snprintf(away, sizeof away, "%s-away", rig->root);
    assert_int_equal(rename(dir.path, away), 0);
    assert_int_equal(mkdir(dir.path, 0755), 0);
    snprintf(journal, sizeof journal, "%s/.gpufl-agent", dir.path);
    assert_int_equal(mkdir(journal, 0755), 0);
    unsigned before = rig->loops;
    rig_run(rig, 60000, false);
    assert_int_equal(rig_summary(rig).directories_skipped, 1);
    assert_true(rig->loops - before < 500);
    session_dir_close(&dir);
    rig_delete(rig);
    dirs_remove(strdup(away));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_counted_and_some_of_each_owner_are_named),
        cmocka_unit_test(one_that_is_unlocked_is_served),
        cmocka_unit_test(one_in_the_place_of_a_session_is_not_listed_without_pause)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
