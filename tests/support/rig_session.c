/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions for a rig, and comparisons of what it stored with their files. */
#include "tests/support/rig_session.h"
#include "tests/support/rig_backend.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/support/check.h"

void rig_fill(struct live_session *s, int lines)
{
    static const char *const channels[] = {"device", "scope", "system"};
    for (int c = 0; c < 3; c++) {
        live_line(s, channels[c], "job_start", 0);
        for (int i = 1; i <= lines; i++) {
            live_line(s, channels[c], "x", i);
        }
        live_line(s, channels[c], "shutdown", lines + 1);
    }
}

void rig_same_as_file(struct rig *rig, const char *session, const char *channel)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s.log", session, channel);
    char *file = rig_file(rig, path);
    char *stored = rig_stored(rig, session, channel);
    assert_string_equal(stored, file);
    free(file);
    free(stored);
}

void rig_all_same(struct rig *rig, const char *session)
{
    rig_same_as_file(rig, session, "device");
    rig_same_as_file(rig, session, "scope");
    rig_same_as_file(rig, session, "system");
}

struct rig *rig_positions_on(struct rig *rig)
{
    rig->positions.declared = true;
    rig->positions.epoch = 1;
    rig->version_body = "{\"supported\":[\"1\"],\"encodings\":[\"zstd\",\"gzip\"],"
                        "\"live_windows\":true,\"window_registry\":true,"
                        "\"positions\":true,\"epoch\":\"1\"}";
    rig->config.max_requests_per_second = 0;
    return rig;
}

void rig_lose_journal(struct rig *rig)
{
    char command[1200];
    snprintf(command, sizeof command, "rm -rf '%s/.gpufl-agent'", rig->root);
    assert_int_equal(system(command), 0);
}

unsigned rig_count(const struct rig *rig, enum transport_kind kind)
{
    unsigned n = 0;
    for (unsigned i = 0; i < rig->requests; i++) {
        n += rig->request[i].kind == kind;
    }
    return n;
}

struct engine_summary rig_summary(const struct rig *rig)
{
    struct engine_summary s;
    engine_summary(rig->engine, &s);
    return s;
}

struct rig *rig_new(void)
{
    struct rig *rig = malloc(sizeof *rig);
    rig_open(rig);
    return rig;
}

void rig_delete(struct rig *rig)
{
    rig_close(rig);
    free(rig);
}

/* An ended session of \p lines lines a channel, and an engine on it. */
struct rig *rig_ended_session(int lines)
{
    struct rig *rig = rig_new();
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    rig_fill(&s, lines);
    live_close(&s);
    return rig;
}
