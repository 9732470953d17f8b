/* SPDX-License-Identifier: Apache-2.0 */
/* Does the steps of plans: jobs, uploaders, disk, origin. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "schema/channels.h"
#include "schema/layout.h"
#include "tests/sim/gateway.h"
#include "tests/sim/history.h"
#include "tests/sim/kernel.h"
#include "tests/sim/mistaken_sender.h"
#include "tests/sim/world.h"
#include "tests/support/pick.h"

static void begin_job(struct world *world)
{
    if (world->jobs < world->plan.jobs_max && world->jobs < WORLD_JOBS_MAX &&
        !world->away) {
        struct job *job = &world->job[world->jobs++];
        struct job_kind kind = {.rotate_bytes = world->plan.rotate_bytes};
        bool old = pick(2) || world->plan.all_old;
        kind.layout = old ? world->plan.old : OLD_NONE;
        kind.host = world->plan.jobs_far ? 2 : 1;
        kind.same_heads = world->plan.same_heads;
        kind.fault_percent = kind.layout ? 0 : world->job_fault_percent;
        job_begin(job, world->path, &kind);
        if (!job->begun) {
            world->jobs--;
            kernel_kill(job->pid);
        }
    }
}

/* One that runs, begun if there is none and one may begin. */
static struct job *live_job(struct world *world, uint32_t who)
{
    for (unsigned tries = 0; tries < 2; tries++) {
        for (unsigned i = 0; i < world->jobs; i++) {
            struct job *job = &world->job[(who + i) % world->jobs];
            if (!job->over) {
                return job;
            }
        }
        begin_job(world);
    }
    return NULL;
}

#define PAUSE_MAX_MS 30000u
#define PAUSE_CALLS  20u
#define PAUSE_NAMED  100u

/* In its next write. A seed draws one of the first calls, a plan names one. */
static void pause_job(const struct job *job, const struct step *step)
{
    struct kernel_process *process = &kernel.process[job->pid];
    process->pause_left =
        1 + step->a % (step->a < PAUSE_NAMED ? PAUSE_NAMED : PAUSE_CALLS);
    process->pause_ms = step->b % PAUSE_MAX_MS;
    process->pause_fails = job->old.layout ? 0 : step->b / PAUSE_MAX_MS % 8;
}

static void step_job(struct world *world, const struct step *step)
{
    struct job *job = live_job(world, step->who);
    if (!job) {
        return;
    }
    int channel = (int)(step->a % JOB_CHANNELS);
    unsigned lines = 1 + step->b % (step->b % 7 ? 6 : 60);
    switch (step->kind) {
    case STEP_WRITE:
        job_write(job, channel, lines,
                  step->b % 5              ? 40
                  : world->plan.line_bytes ? world->plan.line_bytes
                                           : 400);
        break;
    case STEP_HALVE:
        job_write(job, channel, lines, step->b % 5 ? 40 : 400);
        job_halve(job, channel, step->a, step->b % 5000);
        break;
    case STEP_END_JOB:
        job_end(job);
        break;
    case STEP_KILL_JOB:
        job_kill(job);
        break;
    case STEP_PAUSE_JOB:
        pause_job(job, step);
        break;
    default:
        kernel.process[job->pid].calls_left = 1 + step->a % 12;
        kernel.process[job->pid].fault_percent = step->b % 2 && !job->old.layout ? 30 : 0;
        break;
    }
}

static void set_faults(struct world *world, unsigned percent)
{
    for (unsigned i = 0; i < UPLOADERS; i++) {
        struct uploader *u = &world->uploader[i];
        u->fault_percent = percent;
        world->noticed_late |= percent > 0;
        kernel.process[u->pid].fault_percent = percent;
    }
}

/* An existing client whose renames fail takes two files for one by itself. */
static void set_job_faults(struct world *world, unsigned percent)
{
    world->job_fault_percent = percent;
    for (unsigned i = 0; i < world->jobs; i++) {
        const struct job *job = &world->job[i];
        if (!job->old.layout) {
            kernel.process[job->pid].fault_percent = percent;
        }
    }
}

static void start_upload(struct world *world, const struct step *step)
{
    bool second = world->plan.more_uploads && step->who % 2;
    struct uploader *u = &world->uploader[second ? 3 : 1];
    if (!u->engine) {
        u->until_ms = kernel.now_ms + 1000 + step->a % 600000;
        uploader_start(u);
    }
}

static void step_uploader(struct world *world, const struct step *step)
{
    struct uploader *u = world_uploader(world, step->who);
    switch (step->kind) {
    case STEP_RESTART:
        uploader_stop(u, true);
        break;
    case STEP_KILL:
        uploader_stop(u, false);
        break;
    case STEP_CUT:
        kernel.process[u->pid].calls_left = 1 + step->a % 300;
        break;
    case STEP_CHILD:
        if (u->engine) {
            history_say("its child is %d", kernel_fork(u->pid));
        }
        break;
    default:
        start_upload(world, step);
        break;
    }
}

static void lose_power(struct world *world)
{
    for (unsigned i = 0; i < world->jobs; i++) {
        struct job *job = &world->job[i];
        world_note_complete(world, job);
        job_kill(job);
        job->harm |= JOB_LOST_POWER;
    }
    kernel_power_failure();
    world->locker = 0;
    for (unsigned i = 0; i < UPLOADERS; i++) {
        uploader_stop(&world->uploader[i], false);
    }
}

static void step_disk(struct world *world, const struct step *step)
{
    switch (step->kind) {
    case STEP_DISK_FAULTS:
        set_faults(world, step->a % 2 ? step->b % 30 : 0);
        break;
    case STEP_JOB_FAULTS:
        set_job_faults(world, step->a % 3 ? step->b % 30 : 0);
        break;
    case STEP_DISK_FULL:
        kernel.full = !kernel.full;
        break;
    case STEP_SYNC:
        inode_sync_all();
        break;
    case STEP_SLOW_SYNCS:
        world_uploader(world, step->who)->sync_ms = step->a % 2 ? step->b % 60000 : 0;
        break;
    default:
        lose_power(world);
        break;
    }
}

static void unmount(struct world *world, bool replace)
{
    world->away = !world->away;
    if (!world->away) {
        inode_link(world->above, WORLD_NAME, world->logs);
        return;
    }
    if (replace) {
        inode_link(world->above, WORLD_NAME, inode_make(S_IFDIR | 0755, 1000));
    } else {
        inode_unlink(world->above, WORLD_NAME);
    }
}

static void step_around(struct world *world, const struct step *step)
{
    static const int64_t steps_s[] = {-86400 * 400, -3600, -5, 5, 3600, 86400 * 400};
    if (step->kind == STEP_CLOCK) {
        kernel.wall_step_s += steps_s[step->a % 6];
        kernel_advance(0);
        return;
    }
    unmount(world, step->kind == STEP_REPLACE_ROOT);
    inode_sync(world->above); /* mounts are no names of a disk */
}

/* What it has of that session by then is not to come again. */
static void expire(struct world *world, const struct step *step)
{
    char session[129];
    struct server *server = &world->server;
    server_finish_expiring(server);
    if (!server_oldest(server, session)) {
        return;
    }
    history_say("%s is deleted", session);
    for (unsigned i = 0; i < world->jobs; i++) {
        struct job *job = &world->job[i];
        for (int c = 0; strcmp(job->dir.id, session) == 0 && c < JOB_CHANNELS; c++) {
            char *stored = server_stored(server, session, channel_name((enum channel)c));
            text_puts(&job->stream[c].expired, stored);
            free(stored);
            job->harm |= JOB_EXPIRED;
        }
    }
    server_expire(server, 1 + step->b % 40);
}

/* What it called complete by then may have grown since, and what shows that its lines are
 * those on disk may be deleted. */
static void restore_origin(struct world *world)
{
    if (!world->server.copy) {
        return;
    }
    server_restart(&world->server, true);
    for (unsigned i = 0; world->plan.deletes != DELETE_NEVER && i < world->jobs; i++) {
        world_note_complete(world, &world->job[i]);
    }
}

static void other_sender(struct world *world, const struct step *step)
{
    enum channel channel = (enum channel)(step->a % JOB_CHANNELS);
    const struct server *server = &world->server;
    if (world->jobs && server->kind == SERVER_POSITIONS && !server->hides) {
        mistaken_sender(&world->server, world->job[step->who % world->jobs].dir.id,
                        channel_name(channel));
    }
}

static void step_server(struct world *world, const struct step *step)
{
    struct server *server = &world->server;
    world->noticed_late |= step->kind >= STEP_RESTART_ORIGIN;
    switch (step->kind) {
    case STEP_MOODY:
        server->moody_percent = step->a % 3 ? step->b % 90 : 0;
        gateway_set(server, step->a / 3);
        break;
    case STEP_REFUSE:
        server->refuses = (int)(step->a % 600);
        server->refuses_kind = (enum transport_kind)step->b;
        server->closed |= server->refuses == 409;
        break;
    case STEP_DOWN:
        server->down = !server->down;
        break;
    case STEP_LOSSY:
        server->lossy_percent = step->a % 3 ? step->b % 90 : 0;
        break;
    case STEP_SLOW:
        server->slow_ms = step->a % 2 ? step->b % 20000 : 0;
        break;
    case STEP_MISTAKE:
        other_sender(world, step);
        break;
    case STEP_COPY_ORIGIN:
        server_copy(server);
        break;
    case STEP_RESTART_ORIGIN:
        server_restart(server, false);
        break;
    case STEP_RESTORE_ORIGIN:
        restore_origin(world);
        break;
    case STEP_EXPIRE:
        expire(world, step);
        break;
    default:
        server->hides = !server->hides;
        server->hid = true;
        break;
    }
}

static void step_state(struct world *world, const struct step *step)
{
    struct uploader *u = world_uploader(world, step->who);
    struct inode **copy = &world->copy[step->a % WORLD_COPIES];
    if (step->kind == STEP_KEEP_STATE) {
        *copy = world_state_copy(world, u);
        return;
    }
    if (step->kind == STEP_FLIP_STATE) {
        world_flip_state(world, u, step->b);
        return;
    }
    if (step->kind == STEP_EMPTY_STATE) {
        world_empty_state(world, u);
        return;
    }
    for (unsigned i = 0; i < UPLOADERS; i++) {
        uploader_stop(&world->uploader[i], false);
    }
    world->state_harmed = true;
    switch (step->kind) {
    case STEP_LOSE_STATE:
        world_put_state(world, u, NULL);
        break;
    case STEP_OLD_STATE:
        if (*copy) {
            world_put_state(world, u, *copy);
        }
        break;
    case STEP_FOREIGN_STATE:
        world_put_state(world, u,
                        world_state_copy(world, world_uploader(world, step->who + 1)));
        break;
    default:
        u->config.memory_state = !u->config.memory_state;
        break;
    }
}

void steps_do(struct world *world, const struct step *step)
{
    pick_seed(step->salt);
    history_say("-- %s (%u %u %u)", plan_step_text(step->kind), step->who, step->a,
                step->b);
    if (step->kind == STEP_WAIT) {
        world_run(world, step->a % (step->b % 8 ? 20000 : 1000000));
    } else if (step->kind == STEP_BEGIN_JOB) {
        begin_job(world);
    } else if (step->kind <= STEP_CUT_JOB) {
        step_job(world, step);
    } else if (step->kind <= STEP_UPLOAD) {
        step_uploader(world, step);
    } else if (step->kind <= STEP_MEMORY_STATE) {
        step_state(world, step);
    } else if (step->kind <= STEP_POWER) {
        step_disk(world, step);
    } else if (step->kind <= STEP_CAPABILITY) {
        step_server(world, step);
    } else if (step->kind <= STEP_CLOCK) {
        step_around(world, step);
    } else {
        steps_user(world, step);
    }
    world_run(world, 0);
}
