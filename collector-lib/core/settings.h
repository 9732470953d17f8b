/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of a session, joined from options, environment, file and defaults. */
#ifndef GPUFL_COLLECTOR_CORE_SETTINGS_H
#define GPUFL_COLLECTOR_CORE_SETTINGS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include <gpufl/gpufl.h>

#define SETTINGS_ROTATE_BYTES    (64u << 20)
#define SETTINGS_MAX_SPOOL_BYTES (4ull << 30)
#define SETTINGS_MIN_FREE_BYTES  (512ull << 20)

/** Where Kubernetes runs the job, from its downward API; "" = not set. */
struct pod {
    char name[254];      /* GPUFL_POD_NAME */
    char name_space[64]; /* GPUFL_POD_NAMESPACE */
    char node[254];      /* GPUFL_NODE_NAME */
};

struct settings {
    char app_name[256];
    char log_path[PATH_MAX];
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
    bool details_per_launch;
    uint64_t rotate_bytes;    /* GPUFL_LOG_ROTATE_BYTES */
    uint64_t rotate_after_ms; /* GPUFL_LOG_ROTATE_AFTER_MS, 0 = never */
    uint64_t max_spool_bytes; /* GPUFL_LOG_MAX_SPOOL_BYTES, 0 = no limit */
    uint64_t min_free_bytes;  /* GPUFL_LOG_MIN_FREE_BYTES, 0 = no limit */
    struct pod pod;
};

/** True if GPUFL_DISABLED is set to a true value. */
bool settings_disabled_by_env(void);

/** Resolves \p options: values set in code override the environment, which overrides
 * the file, which overrides the defaults. NULL means defaults, as do fields that a
 * shorter struct lacks. Warnings go to stderr, one line each. \return GPUFL_OK;
 * GPUFL_OFF if disabled; GPUFL_ERR_USAGE with a sentence in \p why. */
gpufl_status settings_resolve(const struct gpufl_init_options *options,
                              struct settings *out, char why[256]);

/** The name of \p engine as GPUFL_PROFILING_ENGINE spells it. */
const char *settings_engine_name(enum gpufl_profiling_engine engine);

#endif
