/* SPDX-License-Identifier: Apache-2.0 */
/* Hundreds of sessions that are held, as anybody can make them: few are open, each is
 * counted, and what is mended is sent. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/ended_sessions.h"
#include "tests/support/rig_session.h"
#include "upload/core/session.h"
#include "upload/published/progress_file.h"

#define MANY      300
#define MOST_OPEN 65
#define ONE       12345u
#define OTHER     12346u

static void rename_in(const struct rig *rig, unsigned n, const char *from, const char *to)
{
    char id[40];
    char a[700];
    char b[700];
    ended_id(n, id);
    snprintf(a, sizeof a, "%s/%s/%s", rig->root, id, from);
    snprintf(b, sizeof b, "%s/%s/%s", rig->root, id, to);
    assert_int_equal(rename(a, b), 0);
}

/* In place, so that the directory does not change, or by another file. */
static void write_manifest(const struct rig *rig, unsigned n, const char *text,
                           size_t len)
{
    char path[80];
    char id[40];
    ended_id(n, id);
    snprintf(path, sizeof path, "%s/.gpufl-session.json", id);
    int root = open(rig->root, O_RDONLY | O_DIRECTORY);
    int fd = openat(root, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    assert_true(fd >= 0 && write(fd, text, len) == (ssize_t)len);
    close(fd);
    close(root);
}

static char *read_manifest(struct rig *rig, unsigned n)
{
    char path[80];
    char id[40];
    ended_id(n, id);
    snprintf(path, sizeof path, "%s/.gpufl-session.json", id);
    return rig_file(rig, path);
}

static unsigned open_sessions(const struct rig *rig)
{
    return ended_root(rig)->by_path.count;
}

static struct rig *rig_with_damaged(char *manifest[MANY])
{
    struct rig *rig = rig_new();
    ended_make(rig->root, 0, MANY);
    for (unsigned n = 0; n < MANY; n++) {
        manifest[n] = read_manifest(rig, n);
        write_manifest(rig, n, "{", 1);
    }
    return rig;
}

static void what_is_mended_in_place_is_sent(void **state)
{
    (void)state;
    static char *manifest[MANY];
    struct rig *rig = rig_with_damaged(manifest);
    ended_make(rig->root, MANY, 1);
    rig_start(rig);
    rig_run(rig, 30000, false);
    assert_true(open_sessions(rig) <= MOST_OPEN);
    assert_int_equal(rig_summary(rig).sessions_blocked, MANY);
    assert_int_equal(rig_summary(rig).sessions, MANY + 1);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    assert_true(engine_drained(rig->engine));
    rig_run(rig, 120000, false); /* looked at again, and again */
    assert_int_equal(rig_summary(rig).sessions_blocked, MANY);
    assert_true(open_sessions(rig) <= MOST_OPEN);
    for (unsigned n = 0; n < MANY; n++) {
        write_manifest(rig, n, manifest[n], strlen(manifest[n]));
        free(manifest[n]);
    }
    rig_run(rig, 120000, false);
    assert_int_equal(rig_summary(rig).sessions_blocked, 0);
    assert_int_equal(rig_summary(rig).sessions_done, MANY + 1);
    assert_int_equal(ended_requests(rig, TRANSPORT_BATCH), MANY + 1);
    rig_delete(rig);
}

static void a_directory_that_changes_is_looked_at_in_the_next_listing(void **state)
{
    (void)state;
    static char *manifest[MANY];
    struct rig *rig = rig_with_damaged(manifest);
    rig_start(rig);
    rig_run(rig, 61000, false); /* all were looked at a moment ago */
    for (unsigned n = 0; n < MANY; n++) {
        rename_in(rig, n, ".gpufl-session.json", "notes.txt");
        write_manifest(rig, n, manifest[n], strlen(manifest[n]));
        free(manifest[n]);
    }
    rig_run(rig, 25000, false);
    assert_int_equal(rig_summary(rig).sessions_done, MANY);
    rig_delete(rig);
}

static void one_that_is_gone_is_not_missed(void **state)
{
    (void)state;
    static char *manifest[MANY];
    struct rig *rig = rig_with_damaged(manifest);
    rig_start(rig);
    rig_run(rig, 30000, false);
    for (unsigned n = 0; n < MANY; n++) {
        char id[40];
        char path[700];
        ended_id(n, id);
        snprintf(path, sizeof path, "%s/%s", rig->root, id);
        dirs_remove(strdup(path));
        free(manifest[n]);
    }
    rig_run(rig, 70000, false);
    assert_true(rig_summary(rig).sessions_away <= MOST_OPEN);
    assert_int_equal(rig_summary(rig).sessions_blocked, 0);
    assert_int_equal(ended_root(rig)->parked.held, 0);
    assert_int_equal(ended_root(rig)->parked.table.count, 0);
    rig_delete(rig);
}

/* No more than this, and its path, of each that anybody can make. */
static void what_is_kept_of_one_is_small(void **state)
{
    (void)state;
    char id[40];
    ended_id(0, id);
    assert_true(sizeof(struct parked_session) + sizeof(struct parked_held) + strlen(id) +
                    4 * sizeof(void *) <=
                216);
}

struct seen {
    unsigned named;
    unsigned more;
};

static void see_note(void *arg, const struct progress_note *note)
{
    struct seen *seen = arg;
    seen->named += note->path[0] != '\0';
    seen->more += note->more;
}

static void what_is_told_of_them_is_bounded(void **state)
{
    (void)state;
    static char *manifest[MANY];
    struct rig *rig = rig_with_damaged(manifest);
    struct seen seen = {0, 0};
    rig_start(rig);
    rig_run(rig, 30000, false);
    progress_notes(&sys_real, ended_root(rig)->fd, see_note, &seen);
    assert_int_equal(seen.named + seen.more, MANY);
    assert_true(seen.named <= 2 * MOST_OPEN);
    assert_true(seen.more > 0);
    for (unsigned n = 0; n < MANY; n++) {
        free(manifest[n]);
    }
    rig_delete(rig);
}

static void pipes_make(const struct rig *rig)
{
    for (unsigned n = 0; n < MANY; n++) {
        char path[700];
        snprintf(path, sizeof path, "%s/pipe-%u", rig->root, n);
        assert_int_equal(mkdir(path, 0755), 0);
        snprintf(path, sizeof path, "%s/pipe-%u/device.log", rig->root, n);
        assert_int_equal(mkfifo(path, 0644), 0);
    }
}

static void files_that_are_not_read_are_counted_once(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    pipes_make(rig);
    rig_start(rig);
    rig_run(rig, 200000, false);
    assert_true(open_sessions(rig) <= MOST_OPEN);
    assert_int_equal(rig_summary(rig).sessions_blocked, MANY);
    assert_int_equal(engine_counters(rig->engine)->refused_names, MANY);
    rig_delete(rig);
}

/* A directory of each of \p count ids, of \p owner. */
static void contest(const struct rig *rig, const char *group, unsigned count, uid_t owner)
{
    char path[512];
    char id[40];
    snprintf(path, sizeof path, "%s/%s", rig->root, group);
    assert_true(mkdir(path, 0755) == 0);
    ended_make(path, 0, count);
    for (unsigned n = 0; n < count; n++) {
        ended_id(n, id);
        snprintf(path, sizeof path, "%s/%s/%s", rig->root, group, id);
        assert_int_equal(chown(path, owner, owner), 0);
    }
}

static void ids_that_two_users_claim_stay_held_until_one_is_removed(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip(); /* several owners */
    }
    struct rig *rig = rig_new();
    contest(rig, "one", MANY, ONE);
    contest(rig, "other", MANY, OTHER);
    rig->config.service = true;
    rig_start(rig);
    rig_run(rig, 200000, false);
    rig_stop(rig);
    rig_start(rig);
    rig_run(rig, 200000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), 0);
    assert_int_equal(rig_summary(rig).sessions_blocked, 2 * MANY);
    assert_true(open_sessions(rig) <= MOST_OPEN);
    char path[700];
    snprintf(path, sizeof path, "%s/other", rig->root);
    dirs_remove(strdup(path));
    rig_run(rig, 300000, false);
    assert_int_equal(ended_requests(rig, TRANSPORT_COMPLETE), MANY);
    assert_int_equal(rig_summary(rig).sessions_blocked, 0);
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_mended_in_place_is_sent),
        cmocka_unit_test(a_directory_that_changes_is_looked_at_in_the_next_listing),
        cmocka_unit_test(one_that_is_gone_is_not_missed),
        cmocka_unit_test(what_is_kept_of_one_is_small),
        cmocka_unit_test(what_is_told_of_them_is_bounded),
        cmocka_unit_test(files_that_are_not_read_are_counted_once),
        cmocka_unit_test(ids_that_two_users_claim_stay_held_until_one_is_removed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
