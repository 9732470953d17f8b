/* SPDX-License-Identifier: Apache-2.0 */
/* What writers of several users left in `.tmp` is salvaged in turns. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema/layout.h"
#include "tests/support/ended_sessions.h"
#include "tests/support/rig_session.h"

#define OTHER    12345u
#define USER     12346u
#define SESSIONS 20u
#define LARGE    40000u /* lines: more than a turn reads */
#define SMALL    400u

/* Lines that hardly compress. */
static char *window_of(unsigned lines)
{
    uint64_t x = 88172645463325252u;
    char *text = malloc((size_t)lines * 64);
    size_t len = 0;
    for (unsigned i = 0; i < lines; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        len += (size_t)sprintf(text + len, "{\"x\":\"%016llx%016llx\"}\n",
                               (unsigned long long)x, (unsigned long long)(x * x));
    }
    return text;
}

static void left_path(const struct rig *rig, unsigned session, const char *name,
                      char path[700])
{
    snprintf(path, 700, "%s/00000000-1111-4111-8111-0000000000%02u%s%s", rig->root,
             session, *name ? "/" : "", name);
}

/* Of a dead writer: a window that is not compressed. */
static void leave(const struct rig *rig, unsigned session, unsigned lines, uid_t user)
{
    static const char *const names[] = {"", LAYOUT_LOCK, LAYOUT_TMP_DIR,
                                        LAYOUT_TMP_DIR "/device.1.log"};
    char *text = window_of(lines);
    char dir[700];
    char path[700];
    left_path(rig, session, "", dir);
    assert_int_equal(mkdir(dir, 0755), 0);
    dirs_append(dir, LAYOUT_LOCK, "");
    left_path(rig, session, LAYOUT_TMP_DIR, path);
    assert_int_equal(mkdir(path, 0755), 0);
    dirs_append(dir, LAYOUT_TMP_DIR "/device.1.log", text);
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        left_path(rig, session, names[i], path);
        assert_int_equal(chown(path, user, user), 0);
    }
    free(text);
}

static bool is_salvaged(const struct rig *rig, unsigned session)
{
    char path[700];
    left_path(rig, session, "device.1.log.gz", path);
    return access(path, F_OK) == 0;
}

static void a_salvage_of_one_user_waits_for_none_of_another(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip(); /* several owners */
    }
    for (unsigned place = 0; place <= SESSIONS; place += SESSIONS) {
        struct rig *rig = rig_new();
        rig->config.salvage = true;
        rig->config.service = true;
        for (unsigned i = 0; i <= SESSIONS; i++) {
            leave(rig, i, i == place ? SMALL : LARGE, i == place ? USER : OTHER);
        }
        rig_start(rig);
        for (unsigned n = 0; n < 1000 && !is_salvaged(rig, place); n++) {
            rig_run(rig, 0, false);
        }
        unsigned others = 0;
        for (unsigned i = 0; i <= SESSIONS; i++) {
            others += i != place && is_salvaged(rig, i);
        }
        assert_true(is_salvaged(rig, place));
        assert_in_range(others, 0, SESSIONS / 2);
        rig_delete(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_salvage_of_one_user_waits_for_none_of_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
