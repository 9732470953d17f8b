/* SPDX-License-Identifier: Apache-2.0 */
/* What a running writer holds. */
#ifndef GPUFL_COLLECTOR_WRITER_WRITER_STATE_H
#define GPUFL_COLLECTOR_WRITER_WRITER_STATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "collector-lib/core/device_table.h"
#include "collector-lib/core/name_set.h"
#include "collector-lib/core/names.h"
#include "collector-lib/core/ring.h"
#include "collector-lib/core/session_dir.h"
#include "collector-lib/core/settings.h"
#include "collector-lib/core/spool.h"
#include "collector-lib/trace/tracing.h"
#include "collector-lib/writer/open_scopes.h"
#include "collector-lib/writer/sampler.h"
#include "collector-lib/writer/summary.h"
#include "schema/losses.h"

#define WRITER_BEAT_MS      40
#define WRITER_BUSY_BEAT_MS 5

/** The names that a channel's files have. */
struct writer_sent {
    uint32_t scopes; /**< of `used_names` */
    struct trace_names_sent trace;
};

enum file_dictionary {
    FILE_SCOPES,
    FILE_KERNELS,
    FILE_FUNCTIONS, /**< and their symbols */
    FILE_METRICS,
    FILE_SOURCES,
    FILE_DICTIONARIES
};

/** The names that a channel's active file has. */
struct file_names {
    uint32_t file; /**< files sealed before it; 0 = it has all */
    struct name_set has[FILE_DICTIONARIES];
};

struct writer {
    struct settings settings;
    struct session_dir *dir;
    struct rings *rings;
    struct names *names;
    uint16_t generation;

    pthread_t thread;
    pthread_mutex_t lock; /* guards stopping */
    pthread_cond_t wake;
    bool stopping;
    int64_t stop_by_ns; /* once it is stopping: the GPU's driver has until then */
    struct writer_flush *flush;
    _Atomic uint64_t opened; /* 1: the thread has opened what it reads all the time */
    _Atomic uint64_t ended;  /* 1: the thread has done all that can hang */
    /* Read by writer_stats from other threads. */
    _Atomic uint64_t pairs;
    _Atomic uint64_t samples;
    _Atomic uint64_t bytes_written;
    _Atomic uint64_t bytes_lost;
    _Atomic uint64_t lines_lost[CHANNEL_COUNT];
    /* Of what was written, what is on disk no more. */
    _Atomic uint64_t pairs_gone, samples_gone, bytes_gone, lines_gone[CHANNEL_COUNT];
    _Atomic uint64_t kernels_unnamed, samples_unnamed;
    _Atomic uint64_t records_lost, launches_lost, fetches_failed, buffers_unread;
    _Atomic uint64_t left_open;           /* scopes, when the session ended */
    _Atomic uint64_t phases_left_open;    /* likewise */
    _Atomic uint64_t ends_without_memory; /* of scopes that `open` had no room for */
    _Atomic uint64_t paths_lost, calls_forgotten, sources_cut;
    _Atomic uint64_t device_samples_missing;

    _Atomic bool tracer_gone; /* its library has ended */

    /* Used by the thread alone: */
    struct record_context context;
    struct device_table devices;
    struct sampler sampler;
    struct ring_rows rows;
    struct open_scopes open;
    struct text text;
    struct text mark_state; /* of the marks in `text`; empty = not read yet */
    struct tracing tracing;
    struct text opening; /* the line that opens each channel */
    struct text names_text;
    struct name_set used_names; /* of the process's names, those of this session */
    struct name_set row_names;  /* those of `rows` */
    struct file_names file_names[CHANNEL_COUNT];
    struct name_set lacking[FILE_DICTIONARIES];
    struct writer_sent sent[CHANNEL_COUNT];
    bool has_opening[CHANNEL_COUNT]; /* the present one, behind the last failed write */
    bool resumed[CHANNEL_COUNT];     /* after a failed write, it takes writes again */
    uint64_t scope_batches;
    uint64_t scope_row; /* of those that were written, and of those that are to be */
    struct losses lost_before; /* by earlier sessions of the process */
    int beat_ms;
    int64_t job_checked_ns; /* whether threads of the job are left */
    bool house_kept;        /* in this beat */
    struct summary summary;
    struct spool spool;
    int64_t open_phases; /* these, and open scopes, keep the sampler on */
};

#endif
