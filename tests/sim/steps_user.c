/* SPDX-License-Identifier: Apache-2.0 */
/* Does what other users, and people by mistake, do in a log directory. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "schema/channels.h"
#include "schema/layout.h"
#include "tests/sim/history.h"
#include "tests/sim/kernel.h"
#include "tests/sim/world.h"
#include "tests/support/pick.h"

#define STRANGER     2000u
#define CURSOR_BYTES (1u << 20)

static struct job *any_job(struct world *world, uint32_t who)
{
    return world->jobs ? &world->job[who % world->jobs] : NULL;
}

/* A file of lines, so not the manifest or the lock. */
static const char *any_file(const struct inode *dir, uint32_t which)
{
    for (unsigned i = 0; i < dir->names; i++) {
        const char *name = dir->name[(which + i) % dir->names].name;
        if (name[0] != '.') {
            return name;
        }
    }
    return NULL;
}

static void write_text(struct inode *dir, const char *name, uid_t uid, const char *text)
{
    struct inode *file = inode_make(S_IFREG | 0644, uid);
    inode_write(file, 0, text, strlen(text));
    inode_link(dir, name, file);
}

static struct inode *dir_in(struct inode *dir, const char *name, uid_t uid)
{
    struct inode *found = inode_look(dir, name);
    if (!found) {
        found = inode_make(S_IFDIR | 0755, uid);
        inode_link(dir, name, found);
    }
    return found;
}

/* The active file of the channel is there, so that what is missing shows. */
static bool is_followed(const struct job *job, const char *name)
{
    char active[LAYOUT_PATH_MAX];
    struct layout_name is = layout_parse(name);
    layout_active(active, is.channel, false);
    return !job->old.layout && is.kind == LAYOUT_NUMBERED &&
           inode_look(job->inode, active);
}

static bool is_newest(const struct job *job, const char *name)
{
    struct layout_name is = layout_parse(name);
    char next[LAYOUT_PATH_MAX];
    layout_numbered(next, is.channel, is.number + 1, false);
    return !inode_look(job->inode, next);
}

/* It is complete without it, also if a power failure gives the file back later. */
static void forget_stray(struct job *job, const char *name)
{
    if (strcmp(job->stray, name) == 0) {
        job->stray[0] = '\0';
    }
}

/* \p name of its files is there no more. */
static void take_file(struct world *world, struct job *job, const char *name)
{
    job->harm |= is_followed(job, name) ? JOB_LOST_SEALED : JOB_LOST_FILES | JOB_CUT;
    world_note_complete(world, job);
    history_say("%s of %.8s", name, job->dir.id);
    if (is_newest(job, name)) {
        job_newest_deleted(job);
    }
    forget_stray(job, name);
    inode_unlink(job->inode, name);
}

static void cut_file(struct world *world, struct job *job, const char *name, uint32_t to)
{
    struct inode *file = inode_look(job->inode, name);
    job->harm |= JOB_LOST_FILES | JOB_CUT;
    world_note_complete(world, job);
    history_say("%s of %.8s", name, job->dir.id);
    inode_resize(file, file->size ? to % file->size : 0);
    job_was_cut(job, file);
}

static void write_behind_cut(struct job *job, const char *name)
{
    struct layout_name is = layout_parse(name);
    if (!job->over && is.kind == LAYOUT_ACTIVE) {
        job_write(job, (int)channel_named(is.channel), 3, 40);
    }
}

static void damage_file(struct world *world, struct job *job, const struct step *step)
{
    const char *name = any_file(job->inode, step->a);
    if (name && step->kind == STEP_DELETE_FILE) {
        take_file(world, job, name);
    } else if (name) {
        cut_file(world, job, name, step->b);
        if (step->a >= STEP_UNSEEN) {
            write_behind_cut(job, name);
        }
    }
}

static void put_file_back(struct world *world)
{
    struct job *job = &world->job[world->aside_job];
    if (!inode_look(job->inode, world->aside_name)) {
        history_say("%s of %.8s is back", world->aside_name, job->dir.id);
        world_note_complete(world, job);
        inode_link(job->inode, world->aside_name, world->aside);
    }
    world->aside = NULL;
}

static void move_file(struct world *world, struct job *job, const struct step *step)
{
    const char *name = any_file(job->inode, step->a);
    if (world->aside) {
        put_file_back(world);
    } else if (name) {
        snprintf(world->aside_name, sizeof world->aside_name, "%s", name);
        world->aside = inode_look(job->inode, name);
        world->aside_job = step->who % world->jobs;
        take_file(world, job, world->aside_name);
    }
}

static void hard_link(struct world *world, const struct job *job, const struct step *step)
{
    char name[INODE_NAME_MAX];
    const char *file = any_file(job->inode, step->a);
    if (file) {
        snprintf(name, sizeof name, "link-%u", ++world->planted);
        inode_link(dir_in(inode_root(), "var", 0), name, inode_look(job->inode, file));
    }
}

static void copy_session(struct world *world, struct job *job, const struct step *step)
{
    char name[INODE_NAME_MAX];
    struct inode *copy = world_copy_tree(job->inode);
    job->harm |= JOB_HAS_COPY;
    if (step->b % 2) {
        snprintf(name, sizeof name, "copy-%u", ++world->planted);
        inode_link(world->logs, name, copy);
    } else {
        struct inode *group = dir_in(world->logs, "group", 1000);
        inode_link(group, job->dir.id, copy);
    }
}

/* Another first line of each file, as long as the one that was there, and one line more.
 */
static void fork_session(struct world *world, struct job *job)
{
    char line[200];
    struct inode *copy = world_copy_tree(job->inode);
    job->harm |= JOB_HAS_COPY;
    for (unsigned i = 0; i < copy->names; i++) {
        struct inode *file = copy->name[i].inode;
        struct layout_name is = layout_parse(copy->name[i].name);
        char *type = file->have ? memmem(file->data, file->have, "\"pad\"", 5) : NULL;
        if (is.kind != LAYOUT_ACTIVE || !type) {
            continue;
        }
        memcpy(type, "\"pAd\"", 5);
        snprintf(line, sizeof line,
                 "{\"type\":\"x\",\"session_id\":\"%s\",\"c\":\"%s\",\"fork\":1}\n",
                 job->dir.id, is.channel);
        inode_write(file, file->size, line, strlen(line));
    }
    inode_link(dir_in(world->logs, "group", 1000), job->dir.id, copy);
}

/* Another user's copy in the place of a session that is removed, with more lines. */
static void steal_session(struct world *world, struct job *job)
{
    char line[200];
    struct inode *copy = world_copy_tree(job->inode);
    job->harm |= JOB_HAS_COPY;
    copy->uid = STRANGER;
    for (unsigned i = 0; i < copy->names; i++) {
        struct inode *file = copy->name[i].inode;
        struct layout_name is = layout_parse(copy->name[i].name);
        file->uid = STRANGER;
        if (is.kind == LAYOUT_ACTIVE) {
            snprintf(line, sizeof line, "{\"type\":\"x\",\"session_id\":\"%s\"}\n",
                     job->dir.id);
            inode_write(file, file->size, line, strlen(line));
        }
    }
    inode_unlink(world->logs, job->dir.id);
    inode_link(world->logs, job->dir.id, copy);
}

static void rename_session(struct world *world, const struct step *step)
{
    const struct job *job = any_job(world, step->who);
    if (world->renamed) {
        struct job *back = &world->job[world->renamed_job];
        if (inode_look(world->logs, "elsewhere")) {
            inode_rename(world->logs, "elsewhere", world->logs, back->dir.id);
        }
        world->renamed = NULL;
    } else if (inode_look(world->logs, job->dir.id)) {
        world->renamed = job->inode;
        world->renamed_job = step->who % world->jobs;
        world->job[world->renamed_job].harm |= JOB_MOVED;
        inode_rename(world->logs, job->dir.id, world->logs, "elsewhere");
    }
}

/* A stranger's directory, under an id of its own or under that of a job. */
static void plant(struct world *world, struct job *job, const struct step *step)
{
    char name[INODE_NAME_MAX];
    struct inode *group = dir_in(world->logs, "stranger", STRANGER);
    snprintf(name, sizeof name, "%08u-5555-4555-8555-555555555555", ++world->planted);
    if (step->b % 2) {
        job->harm |= JOB_HAS_COPY;
        snprintf(name, sizeof name, "%s", job->dir.id);
    }
    struct inode *dir = dir_in(group, name, STRANGER);
    if (step->a % 3 == 2) {
        inode_link(dir, "device.log", inode_make(S_IFIFO | 0666, STRANGER));
        return;
    }
    write_text(dir, step->a % 2 ? "device.log" : "sass.log", STRANGER,
               "{\"type\":\"job_start\"}\n{\"type\":\"shutdown\"}\n");
}

/* One of the same name that comes when the job is gone is another: a power failure has
 * taken the one that came while it ran. */
static void note_stray(struct job *job, const char *name)
{
    job->harm |= JOB_HAS_OTHERS;
    if (kernel_is_alive(job->pid) && name[0]) {
        snprintf(job->stray, sizeof job->stray, "%s", name);
    } else {
        forget_stray(job, name);
    }
}

static void make_fifo(struct world *world, struct job *job, const struct step *step)
{
    static const char *const names[] = {"x.log", "y.1.log", ".gpufl-window.z.1.json"};
    struct inode *fifo = inode_make(S_IFIFO | 0666, STRANGER);
    struct inode *state = inode_look(world->logs, LAYOUT_STATE_DIR);
    if (step->b % 2 && state) {
        inode_link(state, "progress.tmp", fifo);
    } else if (!inode_look(job->inode, names[step->a % 3])) {
        inode_link(job->inode, names[step->a % 3], fifo);
        note_stray(job, step->a % 3 < 2 ? names[step->a % 3] : "");
        world_note_complete(world, job);
    }
}

static void put_stray(struct job *job, const struct step *step)
{
    char name[16];
    snprintf(name, sizeof name, "rank%u.log", step->a % 8);
    if (!inode_look(job->inode, name)) {
        write_text(job->inode, name, 1000, "{\"type\":\"of somebody\"}\n");
        note_stray(job, name);
    }
}

/* One that is gone cannot be told from one that was never there, by who has not seen it.
 */
static void spoil_manifest(struct world *world, struct job *job, const struct step *step)
{
    static const char ours[] = "\"schema_version\":1";
    struct inode *manifest = inode_look(job->inode, LAYOUT_MANIFEST);
    if (!manifest || !manifest->have) {
        return;
    }
    char *at = memmem(manifest->data, manifest->have, ours, strlen(ours));
    if (at && step->a % 2) {
        at[strlen(ours) - 1] = '2';
        inode_touch(manifest);
    } else {
        inode_resize(manifest, 0);
    }
    inode_sync(manifest);
    job->harm |= JOB_HELD;
    world_note_complete(world, job);
}

static void lock_root(struct world *world)
{
    if (world->locker) {
        kernel_kill(world->locker);
        world->locker = 0;
        return;
    }
    world->locker = kernel_spawn(STRANGER, 1);
    kernel.self = world->locker;
    int fd = kernel_open(world->logs, O_RDONLY | O_DIRECTORY, world->path);
    struct kernel_open *open = kernel_of(fd);
    open->flock = kernel_flock_conflicts(open, true) ? 0 : LOCK_EX;
    kernel.self = 0;
}

/* Small, but for the tree that a parser makes of it. */
static void put_cursor(struct world *world)
{
    struct text text = {0};
    text_puts(&text, "{\"uploaded_files\":[");
    while (text.len < CURSOR_BYTES) {
        text_puts(&text, "{},");
    }
    text_puts(&text, "{}]}");
    struct inode *file = inode_make(S_IFREG | 0644, 1000);
    inode_write(file, 0, text.data, text.len);
    inode_link(world->logs, LAYOUT_UPLOAD_CURSOR, file);
    text_fini(&text);
}

void steps_user(struct world *world, const struct step *step)
{
    struct job *job = any_job(world, step->who);
    if (!job || world->away) {
        return;
    }
    switch (step->kind) {
    case STEP_HARD_LINK:
        hard_link(world, job, step);
        break;
    case STEP_COPY_SESSION:
        copy_session(world, job, step);
        break;
    case STEP_FORK:
        fork_session(world, job);
        break;
    case STEP_STEAL:
        steal_session(world, job);
        break;
    case STEP_CURSOR:
        put_cursor(world);
        break;
    case STEP_RENAME_SESSION:
        rename_session(world, step);
        break;
    case STEP_PLANT:
        plant(world, job, step);
        break;
    case STEP_FIFO:
        make_fifo(world, job, step);
        break;
    case STEP_STRAY:
        put_stray(job, step);
        break;
    case STEP_SPOIL_MANIFEST:
        spoil_manifest(world, job, step);
        break;
    case STEP_FLOCK:
        lock_root(world);
        break;
    case STEP_DELETE_FILE:
    case STEP_CUT_FILE:
        damage_file(world, job, step);
        break;
    case STEP_MOVE_FILE:
        move_file(world, job, step);
        break;
    default:
        write_text(dir_in(world->logs, LAYOUT_STATE_DIR, STRANGER), "progress", STRANGER,
                   "gpufl-progress 1 pid=1 program=x\n");
        break;
    }
}
