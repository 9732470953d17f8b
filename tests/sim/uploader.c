/* SPDX-License-Identifier: Apache-2.0 */
/* Runs engines as processes of a world. */
#include "tests/sim/uploader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/channels.h"
#include "tests/sim/history.h"
#include "tests/sim/kernel.h"
#include "tests/support/pick.h"

#define IN_A_ROW_MAX    1000u   /* turns without any time between them: a loop */
#define WINDOW_LINES    100000u /* of which nobody counts the lines */
#define RESTART_MS      5000u
#define CANNOT_START_MS 60000u

static void uploader_log(void *arg, enum log_level level, const char *line)
{
    struct uploader *u = arg;
    const char *held = strstr(line, "session.held session=");
    text_puts(&u->held, held ? held : "");
    if (strstr(line, "upload.quarantined ") || strstr(line, "upload.refused_before ")) {
        text_printf(&u->refused, "%s\n", line);
    }
    const char *final = strstr(line, "upload.refused_final ");
    const char *lines = final ? strstr(final, " lines=") : NULL;
    uint64_t given_up = lines ? strtoull(lines + strlen(" lines="), NULL, 10) : 0;
    u->given_up += lines && !given_up ? WINDOW_LINES : given_up;
    (void)level;
    history_say("%s %d: %s", u->agent ? "agent" : "upload", u->pid, line);
}

static void uploader_finish_sync(void *self, struct sync_job *job)
{
    struct uploader *u = self;
    if (u->sync == job) {
        struct syncer now = syncer_inline(u->config.sys);
        u->sync = NULL;
        now.start(now.self, job);
    }
}

static void uploader_start_sync(void *self, struct sync_job *job)
{
    struct uploader *u = self;
    u->sync = job;
    u->sync_done_ms = kernel.now_ms + u->sync_ms;
    if (!u->sync_ms) {
        uploader_finish_sync(u, job);
    }
}

void uploader_make(struct uploader *u, unsigned index)
{
    memset(u, 0, sizeof *u);
    u->index = index;
    u->agent = index % 2 == 0;
    u->host = 1;
    engine_config_default(&u->config);
    u->log = (struct log){.level = LOG_AT_INFO, .write = uploader_log, .arg = u};
    u->config.log = &u->log;
    u->config.syncer = (struct syncer){
        .start = uploader_start_sync, .finish = uploader_finish_sync, .self = u};
    u->config.transport = network_transport(&u->end);
    u->config.service = u->agent;
    u->config.in_job = u->config.once = !u->agent;
    u->config.salvage = true;
    u->config.state_dir_name = "--state-dir";
    u->config.program = u->agent ? "gpufl-agent" : "gpufl-upload";
    if (!u->agent) {
        u->config.flush_interval_ms = 0;
        u->config.max_requests_per_second = 0;
    }
}

/* Its process is gone; what it would do while it is taken apart has no effect. */
static void uploader_take_apart(struct uploader *u)
{
    kernel_kill(u->pid);
    network_end_dies(&u->end);
    kernel.self = u->pid;
    engine_close(u->engine);
    kernel.self = 0;
    u->engine = NULL;
    u->sync = NULL;
    u->restart_ms = u->agent ? kernel.now_ms + 1 + pick(RESTART_MS) : 0;
}

static gpufl_status uploader_open(struct uploader *u)
{
    static const struct engine_channels channels = {{CHANNEL_NAMES}, CHANNEL_COUNT};
    char why[512] = "";
    gpufl_status status =
        u->confined ? agent_loop_confine(&u->loop, u->root, u->config.state_dir, why)
                    : GPUFL_OK;
    status = status == GPUFL_OK ? engine_open(&u->config, &u->engine) : status;
    if (status == GPUFL_OK && u->confined) {
        status = agent_loop_open(&u->loop, u->engine, &u->log, why);
    } else if (status == GPUFL_OK) {
        status = engine_add_root(u->engine, u->root, &channels, why);
    }
    if (status != GPUFL_OK) {
        history_say("%s %d: cannot start: %s", u->config.program, u->pid, why);
    }
    return status;
}

void uploader_start(struct uploader *u)
{
    if (u->engine) {
        return;
    }
    u->restart_ms = 0;
    u->pid = kernel_spawn(u->uid, u->host);
    kernel.process[u->pid].fault_percent = u->fault_percent;
    u->end = (struct network_end){.pid = u->pid};
    u->in_a_row = 0;
    agent_loop_close(&u->loop);
    history_say("%s %d starts, state %s", u->config.program, u->pid,
                u->config.memory_state ? "in memory"
                : u->config.state_dir  ? u->config.state_dir
                                       : "beside the logs");
    kernel.self = u->pid;
    gpufl_status status = uploader_open(u);
    kernel.self = 0;
    u->wake_ms = kernel.now_ms;
    if (status != GPUFL_OK || !kernel_is_alive(u->pid)) {
        uploader_take_apart(u);
        u->restart_ms += u->restart_ms ? CANNOT_START_MS : 0;
    }
}

void uploader_stop(struct uploader *u, bool clean)
{
    if (!u->engine) {
        return;
    }
    history_say("%s %d %s", u->config.program, u->pid, clean ? "ends" : "is killed");
    if (clean) {
        kernel.self = u->pid;
        engine_close(u->engine);
        kernel.self = 0;
        u->engine = NULL;
        u->sync = NULL;
        network_end_dies(&u->end);
        kernel_kill(u->pid);
        u->restart_ms = u->agent ? kernel.now_ms + 1 + pick(RESTART_MS) : 0;
    } else {
        uploader_take_apart(u);
    }
}

void uploader_fini(struct uploader *u)
{
    agent_loop_close(&u->loop);
    text_fini(&u->held);
    text_fini(&u->refused);
}

/* With --exit-when-drained, it is no supervisor's. */
static void uploader_exit_when_drained(struct uploader *u)
{
    kernel.self = u->pid;
    bool ends = agent_loop_ends(&u->loop, u->engine, &u->log, &u->status);
    kernel.self = 0;
    uint64_t look_ms = u->loop.look_ms;
    u->wake_ms = u->wake_ms < look_ms ? u->wake_ms : look_ms;
    if (ends) {
        uploader_stop(u, true);
        history_say("its exit status is %d", u->status);
        u->restart_ms = 0;
        u->exited = true;
    }
}

static void uploader_turn(struct uploader *u)
{
    kernel.self = u->pid;
    agent_loop_look(&u->loop);
    uint64_t wait = engine_turn(u->engine);
    bool over = !u->agent && engine_drained(u->engine);
    kernel.self = 0;
    u->turns++;
    u->in_a_row = wait ? 0 : u->in_a_row + 1;
    if (u->in_a_row > IN_A_ROW_MAX) {
        history_fail("busy", "%s %d turns without end", u->config.program, u->pid);
    }
    wait = u->loop.loop.missing && wait > AGENT_LOOP_MS ? AGENT_LOOP_MS : wait;
    u->wake_ms = wait == ENGINE_FOREVER ? UINT64_MAX : kernel.now_ms + wait;
    if (!kernel_is_alive(u->pid)) {
        history_say("%s %d was killed", u->config.program, u->pid);
        uploader_take_apart(u);
    } else if (over || (!u->agent && kernel.now_ms >= u->until_ms)) {
        uploader_stop(u, true);
    } else if (u->exits) {
        uploader_exit_when_drained(u);
    }
}

void uploader_step(struct uploader *u)
{
    if (u->engine && u->sync && kernel.now_ms >= u->sync_done_ms) {
        kernel.self = u->pid;
        uploader_finish_sync(u, u->sync);
        kernel.self = 0;
        u->wake_ms = kernel.now_ms;
    }
    bool late = !u->agent && kernel.now_ms >= u->until_ms;
    if (u->engine &&
        (kernel.now_ms >= u->wake_ms || late || network_has_reply(&u->end))) {
        uploader_turn(u);
    } else if (!u->engine && u->restart_ms && kernel.now_ms >= u->restart_ms) {
        uploader_start(u);
    }
}

uint64_t uploader_next_ms(const struct uploader *u)
{
    if (!u->engine) {
        return u->restart_ms ? u->restart_ms : UINT64_MAX;
    }
    uint64_t next = u->wake_ms;
    if (u->sync && u->sync_done_ms < next) {
        next = u->sync_done_ms;
    }
    return !u->agent && u->until_ms < next ? u->until_ms : next;
}

uint64_t uploader_refused_bytes(const struct uploader *u, const char *session,
                                unsigned line_bytes)
{
    uint64_t sum = 0;
    unsigned long long begin;
    unsigned long long end;
    char *said = strndup(u->refused.len ? u->refused.data : "", u->refused.len);
    char *next = said;
    for (const char *line; (line = strsep(&next, "\n"));) {
        const char *range = strstr(line, session) ? strstr(line, " begin=") : NULL;
        if (range && sscanf(range, " begin=%llu end=%llu", &begin, &end) == 2) {
            sum += end - begin;
        } else if (strstr(line, session) && (range = strstr(line, " lines="))) {
            sum += strtoull(range + strlen(" lines="), NULL, 10) * line_bytes;
        }
    }
    free(said);
    return sum;
}
