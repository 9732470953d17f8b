/* SPDX-License-Identifier: Apache-2.0 */
/* Which sessions count in the exit status of `gpufl status`, however many others there
 * are. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
    assert_true(status_concerns_path(&concern, "mine"));
    assert_true(status_concerns_path(&concern, "group/mine-too"));
    assert_true(status_concerns_path(&concern, "group"));
    assert_true(status_concerns_path(&concern, "nowhere"));
    for (unsigned i = 0; i < MANY; i++) { /* none is a session: there is no directory */
        snprintf(path, sizeof path, "session%u", i);
        assert_true(status_concerns_path(&concern, path));
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
