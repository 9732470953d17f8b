/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of a session, joined from options, environment, file and defaults. */
#ifndef GPUFL_COLLECTOR_CORE_SETTINGS_H
#define GPUFL_COLLECTOR_CORE_SETTINGS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include <gpufl/gpufl.h>

#include "collector-lib/core/config_file.h"
#include "collector-lib/core/option_fields.h"
#include "collector-lib/core/source_roots.h"

#define SETTINGS_ROTATE_BYTES    (64u << 20)
#define SETTINGS_MAX_SPOOL_BYTES (4ull << 30)
#define SETTINGS_MIN_FREE_BYTES  (512ull << 20)
#define SETTINGS_SHUTDOWN_MS     2000

/** Where Kubernetes runs the job, from its downward API; "" = not set. */
struct pod {
    char name[254];      /* GPUFL_POD_NAME */
    char name_space[64]; /* GPUFL_POD_NAMESPACE */
    char node[254];      /* GPUFL_NODE_NAME */
};

struct settings {
    char app_name[OPTION_APP_NAME_BYTES];
    char log_path[PATH_MAX];
    const char *log_path_by; /* the field or variable that has set it */
    int sample_rate_ms;
    bool continuous;
    enum gpufl_backend_kind backend;
    enum gpufl_profiling_engine engine;     /* as requested */
    enum gpufl_profiling_engine max_engine; /* GPUFL_MAX_ENGINE */
    bool stack_trace, source_collection, external_correlation, synchronization;
    bool memory_tracking, cuda_graphs;
    bool sync_each_write;
    bool debug;
    int simulated_gpus;
    bool device_details;
    size_t trace_buffer_bytes;
    size_t sample_buffer_bytes;
    struct source_roots source_roots;
    bool details_per_launch;
    uint64_t rotate_bytes;    /* GPUFL_LOG_ROTATE_BYTES */
    uint64_t rotate_after_ms; /* GPUFL_LOG_ROTATE_AFTER_MS, 0 = never */
    uint64_t max_spool_bytes; /* GPUFL_LOG_MAX_SPOOL_BYTES, 0 = no limit */
    uint64_t min_free_bytes;  /* GPUFL_LOG_MIN_FREE_BYTES, 0 = no limit */
    uint64_t shutdown_ms;     /* GPUFL_SHUTDOWN_TIMEOUT_MS */
    struct pod pod;
    char sysfs[PATH_MAX]; /* GPUFL_SYSFS, "" = not set */
};

/** True if GPUFL_DISABLED is set to a true value. */
bool settings_disabled_by_env(void);

/** In memory of its own, as a thread may have too little stack for one. \return NULL
 * without memory. */
struct settings *settings_new(void);
/** NULL is allowed. Keeps errno. */
void settings_free(struct settings *settings);

/** Completes \p options to \p given: NULL means defaults, as do fields that a shorter
 * struct lacks; and sets in \p out what the environment alone sets, so how long a disk
 * has to return. Warnings go to stderr, one line each. \return GPUFL_OK; GPUFL_OFF if
 * disabled; GPUFL_ERR_USAGE with a sentence in \p why. */
gpufl_status settings_begin(const struct gpufl_init_options *options,
                            struct gpufl_init_options *given, struct settings *out,
                            char why[256]);

/** Names the file that config_file_read is to read, if there is one and the name is not
 * too long: file->path and file->fault, which are "". */
void settings_name_file(const struct gpufl_init_options *given, struct config_file *file);

/** Sets the rest: values set in code override the environment, which overrides the \p
 * file, as it was read, which overrides the defaults. It does not look up the source
 * roots: they are in file->options, which has what was joined. \return as settings_begin.
 */
gpufl_status settings_join(const struct gpufl_init_options *given,
                           struct config_file *file, struct settings *out, char why[256]);

/** The name of \p engine as GPUFL_PROFILING_ENGINE spells it. */
const char *settings_engine_name(enum gpufl_profiling_engine engine);

#endif
