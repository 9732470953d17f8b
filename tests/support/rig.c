/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of a rig, its syncs, and the engine on it. */
#include "tests/support/rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/channels.h"
#include "tests/support/check.h"
#include "tests/support/dirs.h"
#include "tests/support/disk.h"
#include "tests/support/rig_backend.h"
#include "upload/engine/account.h"

static uint64_t clock_ms = 1000000;
static struct sys rig_sys;

uint64_t rig_now_ms(void)
{
    return clock_ms;
}

void rig_advance_ms(uint64_t ms)
{
    clock_ms += ms;
}

static int64_t wall_step_s;

void rig_step_wall_s(int64_t s)
{
    wall_step_s += s;
}

static int64_t rig_wall_s(void)
{
    return sys_real.wall_s() + wall_step_s;
}

static void finish_sync(void *self, struct sync_job *job)
{
    struct rig *rig = self;
    if (rig->sync == job) {
        struct syncer now = syncer_inline(&rig_sys);
        rig->sync = NULL;
        now.start(now.self, job);
    }
}

static void start_sync(void *self, struct sync_job *job)
{
    struct rig *rig = self;
    assert_null(rig->sync);
    rig->sync = job;
    rig->sync_done_ms = clock_ms + rig->sync_ms;
    if (!rig->sync_ms) {
        finish_sync(rig, job);
    }
}

void rig_open(struct rig *rig)
{
    clock_ms = 1000000;
    memset(rig, 0, sizeof *rig);
    rig_sys = disk_sys;
    rig_sys.now_ms = rig_now_ms;
    rig_sys.wall_s = rig_wall_s;
    rig->root = dirs_make();
    disk_open(rig->root);
    rig->version_body = "{\"supported\":[\"1\"],\"encodings\":[\"zstd\",\"gzip\"],"
                        "\"live_windows\":true,\"window_registry\":true}";
    engine_config_default(&rig->config);
    static const struct log loud = {.level = LOG_AT_DEBUG, .write = log_to_stderr};
    rig->config.log = getenv("RIG_LOG") ? &loud : NULL; /* RIG_LOG=1 shows what it does */
    rig->config.sys = &rig_sys;
    rig->config.syncer =
        (struct syncer){.start = start_sync, .finish = finish_sync, .self = rig};
    rig->config.transport = rig_backend(rig);
    rig->channels = (struct engine_channels){{CHANNEL_NAMES}, CHANNEL_COUNT};
}

void rig_start(struct rig *rig)
{
    char why[512];
    rig->config.transport.self = rig;
    for (;;) {
        assert_int_equal(engine_open(&rig->config, &rig->engine), GPUFL_OK);
        if (engine_add_root(rig->engine, rig->root, &rig->channels, why) == GPUFL_OK) {
            return;
        }
        if (!disk_fault_percent()) {
            fail_msg("the engine does not start: %s", why);
        }
        engine_close(rig->engine); /* a supervisor starts it again */
        disk_faults(disk_fault_percent() / 2);
    }
}

void rig_stop(struct rig *rig)
{
    engine_close(rig->engine);
    rig->engine = NULL;
    rig->answered = rig->requests; /* replies to a process that is gone */
}

void rig_close(struct rig *rig)
{
    engine_close(rig->engine);
    for (unsigned i = 0; i < rig->requests; i++) {
        free(rig->request[i].raw);
        free(rig->request[i].answer);
    }
    rig_positions_fini(&rig->positions);
    disk_close();
    dirs_remove(rig->root);
}

/* Whatever a test does: what was read has become something. */
static void rig_check_account(const struct rig *rig)
{
    struct account account;
    engine_account(rig->engine, &account);
    if (account.lines_over || account.bytes_over) {
        fail_msg(
            "%lld lines and %lld bytes were read, and nobody knows what became of them",
            (long long)account.lines_over, (long long)account.bytes_over);
    }
}

void rig_run(struct rig *rig, uint64_t ms, bool until_drained)
{
    uint64_t end = clock_ms + ms;
    for (;;) {
        uint64_t wait = engine_turn(rig->engine);
        rig->loops++;
        rig_check_account(rig);
        if (clock_ms >= end || (until_drained && engine_drained(rig->engine))) {
            return;
        }
        uint64_t answer_ms = rig_answers_in_ms(rig);
        wait = wait < answer_ms ? wait : answer_ms; /* a reply wakes */
        wait = wait ? wait : 1;
        if (rig->sync) {
            uint64_t left =
                rig->sync_done_ms > clock_ms ? rig->sync_done_ms - clock_ms : 0;
            wait = wait < left ? wait : left;
        }
        clock_ms += wait < end - clock_ms ? wait : end - clock_ms;
        if (rig->sync && clock_ms >= rig->sync_done_ms) {
            finish_sync(rig, rig->sync);
        }
    }
}

char *rig_file(struct rig *rig, const char *path)
{
    char full[1024];
    snprintf(full, sizeof full, "%s/%s", rig->root, path);
    FILE *file = fopen(full, "rb");
    assert_non_null(file);
    char *text = calloc(1, 1 << 20);
    size_t n = fread(text, 1, (1 << 20) - 1, file);
    text[n] = '\0';
    fclose(file);
    return text;
}
