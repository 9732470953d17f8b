/* SPDX-License-Identifier: Apache-2.0 */
/* Which sessions count in the exit status of `gpufl status`, however many others there
 * are. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/transfer/status_concern.h"
#include "tests/support/dirs.h"

#define MANY 20000u

/* Directories of another user; with each pair of them compared, this takes minutes. */
static struct selection concern_of_others(const char *group, const char *id)
{
    struct selection all = {.session = calloc(MANY + 2, sizeof *all.session)};
    assert_non_null(all.session);
    for (; all.count < MANY; all.count++) {
        struct selected *s = &all.session[all.count];
        unsigned number = (unsigned)all.count;
        if (group) {
            snprintf(s->path, sizeof s->path, "%s%u/%s", group, number, id);
        } else {
            snprintf(s->path, sizeof s->path, "%s%u", id, number);
        }
        s->id = strchr(s->path, '/') ? strchr(s->path, '/') + 1 : s->path;
    }
    return all;
}

static void concern_add_own(struct selection *all, const char *path)
{
    struct selected *s = &all->session[all->count++];
    snprintf(s->path, sizeof s->path, "%s", path);
    s->id = strchr(s->path, '/') ? strchr(s->path, '/') + 1 : s->path;
    s->own_user = true;
}

static void many_of_one_id_are_each_looked_at_once(void **state)
{
    (void)state;
    for (int own = 0; own < 2; own++) {
        char *base = dirs_make();
        struct selection all = concern_of_others("group", "one-id");
        struct journal_read journal = {.seed = 7};
        if (own) {
            concern_add_own(&all, "one-id");
        }
        struct status_concern concern = {.root = open(base, O_RDONLY | O_DIRECTORY),
                                         .all = geteuid() == 0,
                                         .sessions = &all,
                                         .journal = &journal};
        assert_true(status_concern_open(&concern));
        bool counts = !own || concern.all; /* as where the user has no session */
        for (size_t i = 0; i < MANY; i++) {
            assert_int_equal(status_concerns(&concern, &all.session[i]), counts);
        }
        assert_true(!own || status_concerns(&concern, &all.session[MANY]));
        status_concern_close(&concern);
        close(concern.root);
        free(all.session);
        dirs_remove(base);
    }
}

/* As earlier uploaders tell it, without its owner. */
static bool concern_of(const struct status_concern *in, const char *path)
{
    struct progress_note note = {0};
    snprintf(note.path, sizeof note.path, "%s", path);
    return status_concerns_note(in, &note);
}

static void a_hold_of_what_is_gone_counts_for_its_owner(void **state)
{
    (void)state;
    char *base = dirs_make();
    struct selection all = {.session = calloc(1, sizeof *all.session)};
    struct journal_read journal = {.seed = 7};
    struct journal_read_session *noted = journal_tables_make(&journal, "known");
    noted->has_directory = true;
    noted->directory.user = (uint32_t)geteuid() + 1;
    assert_non_null(all.session);
    concern_add_own(&all, "mine");
    struct status_concern concern = {.root = open(base, O_RDONLY | O_DIRECTORY),
                                     .sessions = &all,
                                     .journal = &journal};
    assert_true(status_concern_open(&concern));
    struct progress_note other = {.path = "gone", .owned = true, .owner = geteuid() + 1};
    struct progress_note own = {.path = "gone", .owned = true, .owner = geteuid()};
    struct progress_note known = {.path = "known", .owned = true, .owner = geteuid() + 1};
    assert_false(status_concerns_note(&concern, &other));
    assert_true(status_concerns_note(&concern, &own));
    assert_true(status_concerns_note(&concern, &known));
    concern.all = true;
    assert_true(status_concerns_note(&concern, &other));
    concern.all = false;
    assert_int_equal(mkdirat(concern.root, "gone", 0700), 0);
    assert_true(status_concerns_note(&concern, &other)); /* the directory tells */
    status_concern_close(&concern);
    journal_tables_close(&journal);
    close(concern.root);
    free(all.session);
    dirs_remove(base);
}

static void a_path_is_found_among_many(void **state)
{
    (void)state;
    char *base = dirs_make();
    char path[64];
    struct selection all = concern_of_others(NULL, "session");
    struct journal_read journal = {.seed = 7};
    concern_add_own(&all, "mine");
    concern_add_own(&all, "group/mine-too");
    struct status_concern concern = {.root = open(base, O_RDONLY | O_DIRECTORY),
                                     .sessions = &all,
                                     .journal = &journal};
    assert_true(status_concern_open(&concern));
    assert_true(concern_of(&concern, "mine"));
    assert_true(concern_of(&concern, "group/mine-too"));
    assert_true(concern_of(&concern, "group"));
    assert_true(concern_of(&concern, "nowhere"));
    for (unsigned i = 0; i < MANY; i++) { /* none is a session: there is no directory */
        snprintf(path, sizeof path, "session%u", i);
        assert_true(concern_of(&concern, path));
    }
    status_concern_close(&concern);
    close(concern.root);
    free(all.session);
    dirs_remove(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_of_one_id_are_each_looked_at_once),
        cmocka_unit_test(a_path_is_found_among_many),
        cmocka_unit_test(a_hold_of_what_is_gone_counts_for_its_owner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
