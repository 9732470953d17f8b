/* SPDX-License-Identifier: Apache-2.0 */
/* A world: jobs, uploaders, an origin, a disk, and who does what to them. */
#ifndef GPUFL_TESTS_SIM_WORLD_H
#define GPUFL_TESTS_SIM_WORLD_H

#include <stdbool.h>

#include "tests/sim/job.h"
#include "tests/sim/plan.h"
#include "tests/sim/server.h"
#include "tests/sim/uploader.h"

#define WORLD_NAME     "logs" /* of the root, in the directory above */
#define WORLD_JOBS_MAX 16
#define WORLD_COPIES   3

struct world {
    struct plan_world plan;
    struct server server;
    struct uploader uploader[UPLOADERS];
    struct job job[WORLD_JOBS_MAX];
    unsigned jobs;
    const char *path;      /**< of the root */
    struct inode *above;   /**< the directory in which it is, under WORLD_NAME */
    struct inode *logs;    /**< the root, also while another directory is there */
    bool away;             /**< the path names another directory, or none */
    struct inode *renamed; /**< the directory of a session that has another name */
    unsigned renamed_job;
    struct inode *aside; /**< a file that was moved away; NULL = none */
    unsigned aside_job;
    char aside_name[INODE_NAME_MAX];
    unsigned job_fault_percent;
    int locker;                       /**< pid of who has locked the root, 0 = nobody */
    struct inode *copy[WORLD_COPIES]; /**< of a state directory */
    bool state_harmed;                /**< a journal was lost or exchanged */
    unsigned planted;
    bool noticed_late; /**< what has changed takes uploaders minutes to notice */
};

void world_begin(struct world *world, const struct plan *plan);
void world_end(struct world *world);

/** \return one of its uploaders. */
struct uploader *world_uploader(struct world *world, uint32_t who);

/** Lets time pass. */
void world_run(struct world *world, uint64_t ms);

/** Notes on \p job if the origin says by now that it has all of it. */
void world_note_complete(struct world *world, struct job *job);

/** Ends all faults and jobs, and waits until nothing is left to do, or for hours. */
void world_settle(struct world *world);

/** Makes the directory of \p path's state anew, as \p from, or empty for NULL. */
void world_put_state(struct world *world, const struct uploader *u, struct inode *from);
/** Removes all that is in it, if others than its user may. */
void world_empty_state(const struct world *world, const struct uploader *u);
/** No other user can write to a state directory any longer. */
void world_close_state(const struct world *world);
/** Changes a bit in the first header of the journal in it: there is a second one. */
void world_flip_state(const struct world *world, const struct uploader *u, uint32_t bit);
/** \return a copy of the state directory of \p u. */
struct inode *world_state_copy(const struct world *world, const struct uploader *u);

struct inode *world_copy_tree(const struct inode *from);

/** Does one step of a plan. */
void steps_do(struct world *world, const struct step *step);
/** The steps that damage what others own: steps_user.c. */
void steps_user(struct world *world, const struct step *step);

#endif
