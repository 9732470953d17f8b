/* SPDX-License-Identifier: Apache-2.0 */
/* What happens in a world, as a list of steps. Each means something in any state: its
 * numbers are taken modulo what there is, and chance within it comes from its own seed.
 * So any part of a plan is a plan. */
#ifndef GPUFL_TESTS_SIM_PLAN_H
#define GPUFL_TESTS_SIM_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/sim/old_client.h"
#include "tests/sim/server.h"
#include "upload/core/engine_config.h"

#define PLAN_STEPS_MAX 400

/** X(identifier, text, weight, feature). */
#define STEP_KINDS(X)                                                                    \
    X(WAIT, "wait", 12, ALWAYS)                                                          \
    X(WRITE, "write", 14, ALWAYS)                                                        \
    X(BEGIN_JOB, "begin a job", 2, ALWAYS)                                               \
    X(HALVE, "write, and half of it is seen", 3, ALWAYS)                                 \
    X(END_JOB, "end a job", 2, ALWAYS)                                                   \
    X(KILL_JOB, "kill a job", 2, KILLS)                                                  \
    X(PAUSE_JOB, "pause a job at a call, which may fail", 4, PAUSES)                     \
    X(CUT_JOB, "kill a job at a call", 2, KILLS)                                         \
    X(RESTART, "restart an uploader", 3, RESTARTS)                                       \
    X(KILL, "kill an uploader", 4, RESTARTS)                                             \
    X(CUT, "kill an uploader at a call", 6, RESTARTS)                                    \
    X(CHILD, "an uploader's process forks", 0, RESTARTS)                                 \
    X(UPLOAD, "upload on demand", 4, UPLOADS)                                            \
    X(KEEP_STATE, "copy a state directory", 3, STATE)                                    \
    X(FLIP_STATE, "flip a bit in a journal's header", 2, STATE)                          \
    X(EMPTY_STATE, "others empty a state directory if they can", 0, STATE)               \
    X(LOSE_STATE, "lose a state directory", 2, STATE)                                    \
    X(OLD_STATE, "put an old state directory back", 3, STATE)                            \
    X(FOREIGN_STATE, "take another's state directory", 1, STATE)                         \
    X(MEMORY_STATE, "state in memory", 1, STATE)                                         \
    X(DISK_FAULTS, "disk faults", 4, DISK)                                               \
    X(JOB_FAULTS, "disk faults of jobs", 3, DISK)                                        \
    X(DISK_FULL, "the disk is full, or not", 2, DISK)                                    \
    X(SLOW_SYNCS, "slow syncs", 2, DISK)                                                 \
    X(SYNC, "the disk has all", 0, DISK)                                                 \
    X(POWER, "power failure", 2, POWER)                                                  \
    X(MOODY, "an origin in moods", 4, ORIGIN)                                            \
    X(REFUSE, "the origin refuses requests of a kind, or not", 0, ORIGIN)                \
    X(DOWN, "nobody answers, or again", 0, NETWORK)                                      \
    X(LOSSY, "a lossy network", 4, NETWORK)                                              \
    X(SLOW, "a slow network", 2, NETWORK)                                                \
    X(MISTAKE, "another sender is mistaken", 0, NETWORK)                                 \
    X(COPY_ORIGIN, "copy the origin", 2, BACKUP)                                         \
    X(RESTART_ORIGIN, "restart the origin", 3, ORIGIN)                                   \
    X(RESTORE_ORIGIN, "put the origin's copy back", 2, BACKUP)                           \
    X(EXPIRE, "the origin deletes its oldest session", 3, RETENTION)                     \
    X(CAPABILITY, "the origin changes its version", 2, VERSIONS)                         \
    X(UNMOUNT, "unmount, or mount again", 3, MOUNTS)                                     \
    X(REPLACE_ROOT, "another directory in its place, or back", 2, MOUNTS)                \
    X(CLOCK, "step the clock", 3, CLOCK)                                                 \
    X(HARD_LINK, "make a hard link", 3, USERS)                                           \
    X(COPY_SESSION, "copy a session", 2, USERS)                                          \
    X(FORK, "copy a session, and change the copy", 0, USERS)                             \
    X(RENAME_SESSION, "rename a session, or back", 2, USERS)                             \
    X(PLANT, "plant a session", 3, USERS)                                                \
    X(FIFO, "make a FIFO", 3, USERS)                                                     \
    X(STRAY, "put a file among those of a session", 2, USERS)                            \
    X(FLOCK, "lock the root, or not", 2, USERS)                                          \
    X(FORGE, "forge what is published", 2, USERS)                                        \
    X(DELETE_FILE, "delete a file", 2, DAMAGE)                                           \
    X(CUT_FILE, "cut a file", 2, DAMAGE)                                                 \
    X(SPOIL_MANIFEST, "spoil a manifest", 1, DAMAGE)                                     \
    X(MOVE_FILE, "move a file away, or back", 0, DAMAGE)                                 \
    X(STEAL, "put another user's copy in the place of a session", 0, USERS)              \
    X(CURSOR, "put a large upload cursor into the root", 0, USERS)

#define STEP_ENUM_(id, text, weight, feature) STEP_##id,
enum step_kind { STEP_KINDS(STEP_ENUM_) STEP_KINDS_COUNT };

enum plan_feature {
    FEATURE_ALWAYS,
    FEATURE_KILLS,
    FEATURE_PAUSES,
    FEATURE_RESTARTS,
    FEATURE_UPLOADS,
    FEATURE_STATE,
    FEATURE_DISK,
    FEATURE_POWER,
    FEATURE_ORIGIN,
    FEATURE_NETWORK,
    FEATURE_BACKUP,
    FEATURE_RETENTION,
    FEATURE_VERSIONS,
    FEATURE_MOUNTS,
    FEATURE_CLOCK,
    FEATURE_USERS,
    FEATURE_DAMAGE,
    FEATURES,
};

/** No seed draws so large a number: a job writes on in a file that is cut, before it sees
 * that. */
#define STEP_UNSEEN (1u << 30)

struct step {
    enum step_kind kind;
    uint32_t who, a, b;
    uint64_t salt;
};

/** What a world begins with. */
struct plan_world {
    enum server_kind server;
    bool own_state; /**< the upload on demand does not use the agent's state directory */
    bool far;       /**< and is on another host, which does not see its locks */
    bool jobs_far;  /**< which is where jobs run, too: the agent sees no lock of theirs */
    bool outside;   /**< the agent's state directory lies elsewhere */
    bool open_state; /**< … and others can write to it, until all faults end */
    bool more_agents, more_uploads; /**< there are two of them */
    bool more_state; /**< the second ones have state directories of their own … */
    bool above;      /**< … and the second agent reads the directory above: no seed's */
    bool late;       /**< the root comes later, and Landlock confines the agent */
    uint32_t jobs_max;
    uint64_t rotate_bytes;
    uint32_t batch_lines;
    uint64_t sync_ms;
    uint64_t journal_bytes;
    uint64_t flush_ms, settled_ms;
    uint64_t orphan_ms; /**< after so long without a line, a writer counts as gone */
    enum engine_delete deletes;
    enum engine_compression compression;
    enum old_layout old;  /**< what half of the jobs are */
    bool all_old;         /**< all of them are */
    bool closes;          /**< no session may be held in the end, whatever happened */
    bool lacks;           /**< each has to be: nobody knows that the origin has all */
    bool lines_in_time;   /**< all are stored when the last step is done */
    bool ends_in_time;    /**< sessions that have ended are complete by then */
    bool exits;           /**< the agent ends when all is sent, and says whether it is */
    uint32_t line_bytes;  /**< that long lines have at most; 0 = 400 */
    uint64_t batch_bytes; /**< that a batch has at most; 0 = as many as usual */
    unsigned missing_max; /**< lines of a job, whatever happened; 0 = any number */
    bool untold;     /**< jobs leave their lock files empty, as earlier versions did */
    bool same_heads; /**< files of 1.1 begin with one and the same line */
};

struct plan {
    uint64_t seed;
    struct plan_world world;
    struct step step[PLAN_STEPS_MAX];
    unsigned steps;
};

/** Makes the plan of \p seed. */
void plan_make(struct plan *plan, uint64_t seed);

const char *plan_step_text(enum step_kind kind);

#endif
