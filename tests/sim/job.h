/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that record: by the collector's own session directory, so that what is on disk is
 * what it writes, or as the existing clients do. What a job has written is kept apart,
 * for the oracle. */
#ifndef GPUFL_TESTS_SIM_JOB_H
#define GPUFL_TESTS_SIM_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "collector-lib/core/session_dir.h"
#include "tests/sim/inode.h"
#include "tests/sim/old_client.h"

#define JOB_CHANNELS 3 /* without sass */

/** What became of a session from outside, by which more is excused. */
enum job_harm {
    JOB_LOST_POWER = 1,   /**< what was not synced is gone */
    JOB_LOST_FILES = 2,   /**< somebody deleted or cut files */
    JOB_HAS_COPY = 4,     /**< another directory has its id, or its files another name */
    JOB_MOVED = 8,        /**< its directory has another name or is away */
    JOB_HAS_OTHERS = 16,  /**< there are files in its directory that it did not make */
    JOB_LOST_SEALED = 64, /**< somebody deleted files behind which there are others */
    JOB_HELD = 256,       /**< somebody spoiled its manifest: it is held */
    JOB_WAS_COMPLETE = 512, /**< it was called that before its directory was harmed, or by
                               a backend that was put back since */
    JOB_EXPIRED = 128,      /**< the origin's retention has deleted it */
    JOB_TORN_PACK = 1024, /**< it was killed while it compressed a file: both are there */
    JOB_CUT = 2048,       /**< of that: cut, or active ones, which nobody need notice */
    JOB_UNTOLD = 4096, /**< of that: a sealed one, and nobody tells that there was one */
    JOB_ROTATED = 32,  /**< it was killed while a file was sealed: none is active */
};

struct job_stream {
    struct inode *file; /**< the active one */
    uint64_t read;      /**< of it */
    uint64_t left;      /**< of half a line behind which others cut it … */
    uint64_t cut_at;    /**< … there */
    struct inode *half; /**< of which others do not see the last write whole */
    struct text written;
    struct text expired; /**< what the origin had of it when it deleted the session */
    uint64_t last_bytes; /**< of the last write, if all of it was done */
    bool at_once;        /**< the job was not paused meanwhile */
    unsigned lines;
    bool begins; /**< its first record is due: at first, and behind a write that failed */
};

struct job {
    bool begun; /**< its directory is there */
    bool over;
    bool shut_down; /**< it wrote its last lines */
    bool same_heads;
    char stray[16]; /**< a file of others that came while it ran, and is not read; "" =
                       none */
    int pid;
    unsigned harm;
    struct session_dir dir;
    struct old_client old;
    struct inode *inode; /**< its directory */
    uint64_t half_until_ms;
    bool
        newest_deleted; /**< its newest sealed file was, before it told that it has one */
    struct job_stream stream[JOB_CHANNELS];
};

/** How one records. */
struct job_kind {
    uint64_t rotate_bytes;
    enum old_layout layout;
    unsigned fault_percent; /**< of the calls that it makes */
    unsigned host;
    bool same_heads; /**< 1.1: all files begin with one and the same line */
};

/** Starts one on \p log_path. */
void job_begin(struct job *job, const char *log_path, const struct job_kind *kind);
/** Others see a part of its last write in \p channel only, for \p ms. */
void job_halve(struct job *job, int channel, uint64_t salt, uint64_t ms);
/** Writes \p lines lines of up to \p size bytes in one channel. */
void job_write(struct job *job, int channel, unsigned lines, unsigned size);
/** Once a second: gives lost names back. */
void job_tick(struct job *job);
/** Its lock file is empty, as earlier versions left it. */
void job_tell_nothing(const struct job *job);
/** Writes the last lines and ends. */
void job_end(struct job *job);
void job_kill(struct job *job);
/** Its newest sealed file was deleted. */
void job_newest_deleted(struct job *job);
/** Its \p file was cut: what follows is appended there. */
void job_was_cut(struct job *job, const struct inode *file);
void job_fini(struct job *job);

#endif
