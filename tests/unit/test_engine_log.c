/* SPDX-License-Identifier: Apache-2.0 */
/* What is logged of one user's sessions while there is very much to be said of those of
 * another one. */
#include "tests/support/check.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/log_sink.h"
#include "tests/support/rig_session.h"

#define OTHER 12345u
#define USER  12346u
#define MANY  200u

static struct text written;

static void keep(void *arg, enum log_level level, const char *line)
{
    (void)arg;
    (void)level;
    text_puts(&written, line);
    text_puts(&written, "\n");
}

/* Of a version that nobody knows, so that it is held. */
static void make_held(const struct rig *rig, const char *id, uid_t user)
{
    char dir[512];
    char manifest[300];
    snprintf(dir, sizeof dir, "%s/%s", rig->root, id);
    snprintf(manifest, sizeof manifest,
             "{\"schema_version\":99,\"type\":\"gpufl_session\",\"layout\":\"live\","
             "\"session_id\":\"%s\"}",
             id);
    assert_int_equal(mkdir(dir, 0755), 0);
    dirs_append(dir, ".gpufl-session.json", manifest);
    dirs_append(dir, "device.log", "");
    assert_int_equal(chown(dir, user, user), 0);
}

static unsigned count_of(const char *text)
{
    unsigned count = 0;
    text_append(&written, "", 1);
    for (const char *at = written.data; (at = strstr(at, text)); at++) {
        count++;
    }
    written.len--;
    return count;
}

static void what_is_said_of_many_sessions_hides_nothing_of_another_user_s(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip(); /* several owners */
    }
    static struct log_sink sink;
    struct rig *rig = rig_new();
    log_sink_init(&sink, false);
    sink.now_ms = rig_now_ms;
    sink.emit = keep;
    const struct log log = {.level = LOG_AT_INFO,
                            .write = log_sink_write,
                            .arg = &sink,
                            .about = &sink.about};
    rig->config.log = &log;
    rig->config.service = true;
    for (unsigned i = 0; i < MANY; i++) {
        char id[40];
        snprintf(id, sizeof id, "planted-%u", i);
        make_held(rig, id, OTHER);
    }
    rig_start(rig);
    rig_run(rig, 1000, false);
    assert_int_equal(count_of("session.held session=planted"), LOG_SINK_BURST);
    make_held(rig, RIG_ID, USER);
    engine_touch(rig->engine, 0, RIG_ID);
    rig_run(rig, 1000, false);
    assert_int_equal(count_of("session.held session=" RIG_ID), 1);
    assert_int_equal(count_of("session.held session=planted"), LOG_SINK_BURST);
    log_sink_flush(&sink);
    assert_int_equal(count_of("log.dropped of=session.held lines=180 owner=12345\n"), 1);
    rig_delete(rig);
    log_sink_fini(&sink);
    text_fini(&written);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_said_of_many_sessions_hides_nothing_of_another_user_s),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
