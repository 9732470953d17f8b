/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a world, and lets its time pass. */
#include "tests/sim/world.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "schema/layout.h"
#include "tests/sim/history.h"
#include "tests/sim/kernel.h"
#include "tests/sim/oracle.h"
#include "tests/support/pick.h"

#define TICK_MS      1000u
#define SETTLE_MS    (4u * 3600 * 1000)
#define REST_MS      (100 * LOOK_MS) /* no uploader waits longer than 90 min */
#define LOOK_MS      60000u
#define QUIET_MS     (3 * LOOK_MS)  /* nothing was left to do for so long … */
#define NOTICED_MS   (25 * LOOK_MS) /* … and what has changed was noticed */
#define STEP_TURNS   50000u
#define TREE_MAX     (64u << 20)
#define STATE_AGENT  "/var/agent"
#define STATE_UPLOAD "/var/upload"
#define STATE_SECOND "/var/agent2", "/var/upload2"
#define USER         1000u

static struct inode *make_dir(struct inode *in, const char *name, mode_t mode, uid_t uid)
{
    struct inode *dir = inode_make(S_IFDIR | mode, uid);
    inode_link(in, name, dir);
    return dir;
}

static void configure_uploader(struct world *world, struct uploader *u)
{
    static const char *const seconds[] = {STATE_SECOND};
    const struct plan_world *plan = &world->plan;
    struct engine_config *config = &u->config;
    bool own = u->agent ? plan->outside : plan->own_state;
    u->uid = USER;
    u->host = !u->agent && plan->far ? 2 : 1;
    u->sync_ms = plan->sync_ms;
    config->sys = &sys_real;
    config->max_batch_lines = plan->batch_lines;
    config->max_batch_bytes =
        plan->batch_bytes ? plan->batch_bytes : config->max_batch_bytes;
    config->journal_bytes = plan->journal_bytes;
    config->settled_sync_ms = plan->settled_ms;
    config->compression = plan->compression;
    config->orphan_timeout_ms = plan->orphan_ms;
    config->state_dir = own             ? u->agent ? STATE_AGENT : STATE_UPLOAD
                        : plan->outside ? STATE_AGENT
                                        : NULL;
    u->root = world->path;
    if (u->index > 1 && plan->more_state) {
        config->state_dir = seconds[!u->agent];
        u->root = u->agent && plan->above ? "/" : world->path;
    }
    if (u->agent) {
        config->flush_interval_ms = plan->flush_ms;
        config->delete_acked = plan->deletes;
        u->exits = plan->exits;
        u->confined = plan->late;
    }
}

/* Landlock's rules do not cover what is to come in "/". */
static void make_root(struct world *world)
{
    bool late = world->plan.late;
    world->path = late ? "/mnt/" WORLD_NAME : "/" WORLD_NAME;
    world->above = late ? make_dir(inode_root(), "mnt", 0755, 0) : inode_root();
    world->logs = make_dir(world->above, WORLD_NAME, 0755, USER);
    if (late) {
        inode_unlink(world->above, WORLD_NAME);
        world->away = true;
        inode_sync(world->above);
    }
}

static bool is_there(const struct world *world, unsigned index)
{
    return index < 2 || (index % 2 ? world->plan.more_uploads : world->plan.more_agents);
}

struct uploader *world_uploader(struct world *world, uint32_t who)
{
    unsigned there[UPLOADERS];
    unsigned count = 0;
    for (unsigned i = 0; i < UPLOADERS; i++) {
        if (is_there(world, i)) {
            there[count++] = i;
        }
    }
    return &world->uploader[there[who % count]];
}

static void start_agents(struct world *world)
{
    for (unsigned i = 0; i < UPLOADERS; i += 2) {
        if (is_there(world, i)) {
            uploader_start(&world->uploader[i]);
        }
    }
}

static void world_pass(void *arg, uint64_t ms)
{
    world_run(arg, ms);
}

void world_begin(struct world *world, const struct plan *plan)
{
    memset(world, 0, sizeof *world);
    world->plan = plan->world;
    kernel_begin(plan->seed);
    kernel.let_pass = world_pass;
    kernel.let_pass_arg = world;
    kernel.far = plan->world.far;
    make_root(world);
    struct inode *var = make_dir(inode_root(), "var", 0755, 0);
    make_dir(var, "agent", plan->world.open_state ? 0777 : 0700, USER);
    make_dir(var, "upload", 0700, USER);
    make_dir(var, "home", 0700, USER);
    if (plan->world.more_state) {
        make_dir(var, "agent2", 0700, USER);
        make_dir(var, "upload2", 0700, USER);
    }
    inode_sync(inode_root());
    inode_sync(var);
    server_begin(&world->server, plan->world.server);
    network_begin(&world->server);
    for (unsigned i = 0; i < UPLOADERS; i++) {
        if (is_there(world, i)) {
            uploader_make(&world->uploader[i], i);
            configure_uploader(world, &world->uploader[i]);
        }
    }
    pick_seed(plan->seed);
    start_agents(world);
}

void world_end(struct world *world)
{
    for (unsigned i = 0; i < UPLOADERS; i++) {
        uploader_stop(&world->uploader[i], false);
        uploader_fini(&world->uploader[i]);
    }
    for (unsigned i = 0; i < world->jobs; i++) {
        job_kill(&world->job[i]);
        job_fini(&world->job[i]);
    }
    network_finish();
    server_end(&world->server);
    kernel_end();
}

static uint64_t next_event(const struct world *world, uint64_t end)
{
    uint64_t next = network_next_ms();
    for (unsigned i = 0; i < UPLOADERS; i++) {
        uint64_t at = uploader_next_ms(&world->uploader[i]);
        next = at < next ? at : next;
    }
    next = next > kernel.now_ms ? next : kernel.now_ms;
    return next < end ? next : end;
}

static void pass_time(struct world *world, uint64_t to)
{
    if (to > kernel.now_ms) {
        kernel_advance(to - kernel.now_ms);
    }
    network_step();
    for (unsigned i = 0; i < UPLOADERS; i++) {
        struct uploader *u = &world->uploader[i];
        uploader_step(u);
        if (u->exited && u->status == 0) {
            oracle_judge_exit(world);
        }
        u->exited = false;
    }
}

static void tick_jobs(struct world *world)
{
    for (unsigned i = 0; i < world->jobs; i++) {
        if (!world->job[i].over && !kernel.process[world->job[i].pid].paused) {
            job_tick(&world->job[i]);
            if (world->plan.untold) {
                job_tell_nothing(&world->job[i]);
            }
        }
    }
}

void world_run(struct world *world, uint64_t ms)
{
    const char *detail;
    uint64_t end = kernel.now_ms + ms;
    unsigned turns = 0;
    tick_jobs(world);
    while (!history_failure(&detail)) {
        pass_time(world, next_event(world, end));
        if (kernel.hung) {
            history_fail("hung", "%s", kernel.hung);
        }
        if (kernel.tree_bytes > TREE_MAX) {
            history_fail("memory", "a text took %zu bytes", kernel.tree_bytes);
        }
        if (++turns > STEP_TURNS) {
            history_fail("busy", "%u turns in %llu ms", turns, (unsigned long long)ms);
        }
        if (kernel.now_ms >= end && next_event(world, UINT64_MAX) > end) {
            break;
        }
    }
    tick_jobs(world);
}

void world_note_complete(struct world *world, struct job *job)
{
    int state = server_state(&world->server, job->dir.id);
    job->harm |= state == 1 || state == 2 ? JOB_WAS_COMPLETE : 0;
}

static bool is_drained(const struct world *world)
{
    bool serves = false; /* a second agent may wait for its lock */
    for (unsigned i = 0; i < UPLOADERS; i++) {
        const struct uploader *u = &world->uploader[i];
        serves |= u->agent && u->engine;
        if (u->engine && !engine_drained(u->engine)) {
            return false;
        }
    }
    return serves;
}

static void end_faults(struct world *world)
{
    kernel.full = false;
    server_finish_expiring(&world->server);
    world->server.moody_percent = world->server.lossy_percent = 0;
    world->server.slow_ms = 0;
    world->server.refuses = 0;
    world->server.down = false;
    world->server.hides = false;
    if (world->away) {
        inode_link(world->above, WORLD_NAME, world->logs);
        world->away = false;
    }
    kernel_kill(world->locker);
    world_close_state(world);
    if (world->renamed && inode_look(world->logs, "elsewhere")) {
        const char *id = world->job[world->renamed_job].dir.id;
        inode_rename(world->logs, "elsewhere", world->logs, id);
    }
    world->renamed = NULL;
    for (unsigned i = 0; i < UPLOADERS; i++) {
        struct uploader *u = &world->uploader[i];
        u->fault_percent = 0;
        u->exits = false;
        kernel.process[u->pid].fault_percent = 0;
        kernel.process[u->pid].calls_left = 0;
    }
}

static void wake_uploaders(struct world *world)
{
    for (unsigned i = 0; i < UPLOADERS; i++) {
        struct uploader *u = &world->uploader[i];
        if (u->engine) {
            kernel.self = u->pid;
            engine_retry_now(u->engine);
            engine_rescan(u->engine);
            kernel.self = 0;
            u->wake_ms = kernel.now_ms;
        }
    }
}

/* One that has believed refusals asks again what the origin declares after ten minutes:
 * until then, it holds what goes by positions. The third may still be on its way when the
 * faults end. */
static uint64_t enough_ms(const struct world *world)
{
    return world->noticed_late || world->server.doubted ? NOTICED_MS : QUIET_MS;
}

void world_settle(struct world *world)
{
    const char *detail;
    history_say("-- all faults end");
    end_faults(world);
    for (unsigned i = 0; i < world->jobs; i++) {
        if (!world->job[i].over) {
            kernel.process[world->job[i].pid].fault_percent = 0;
            kernel.process[world->job[i].pid].calls_left = 0;
            kernel.process[world->job[i].pid].pause_left = 0;
            kernel.process[world->job[i].pid].fails_next = 0;
            job_end(&world->job[i]);
        }
    }
    start_agents(world);
    wake_uploaders(world);
    uint64_t end = kernel.now_ms + SETTLE_MS;
    uint64_t quiet = 0;
    uint64_t rest = 0; /* what is held may ask for ever */
    while (kernel.now_ms < end && quiet < enough_ms(world) && rest < REST_MS &&
           !history_failure(&detail)) {
        int changes = server_changes(&world->server);
        world_run(world, LOOK_MS);
        quiet = is_drained(world) ? quiet + LOOK_MS : 0;
        rest = server_changes(&world->server) == changes ? rest + LOOK_MS : 0;
    }
}
