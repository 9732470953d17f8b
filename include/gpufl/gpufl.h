/* SPDX-License-Identifier: Apache-2.0 */
/* libgpufl: a GPU job records itself into one directory a session.
 *
 *     struct gpufl_init_options options = GPUFL_INIT_OPTIONS_DEFAULT;
 *     options.app_name = "train";
 *     options.system_sample_rate_ms = 100;
 *     options.continuous_system_sampling = true;
 *     gpufl_init(&options);
 *     GFL_SCOPE("step") { … }
 *     gpufl_shutdown();
 *
 * Every function may be called from any thread, before gpufl_init and after
 * gpufl_shutdown (then it does nothing). None of them ends the program, touches a signal
 * handler or opens a connection. After fork() the child records nothing until it calls
 * gpufl_init itself; a fork while a library is loaded for us waits for that, 1 s at most.
 */
#ifndef GPUFL_H
#define GPUFL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpufl/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Where device figures come from. */
enum gpufl_backend_kind {
    GPUFL_BACKEND_AUTO = 0,   /**< the vendor whose driver answers, NVIDIA first */
    GPUFL_BACKEND_NVIDIA = 1, /**< libnvidia-ml.so.1, opened at run time */
    GPUFL_BACKEND_AMD = 2,    /**< the amdgpu driver's files in /sys (GPUFL_SYSFS) */
    GPUFL_BACKEND_NONE = 3    /**< no GPU library is opened */
};

/** How deep to look; each stands on the one below. Trace and PcSampling need an NVIDIA
 * GPU, libgpufl-cupti.so beside libgpufl.so and CUDA 12 or later's libcupti. What cannot
 * run, or is not built yet (from SASS_METRICS on), is recorded as requested, one sentence
 * on stderr says why, and the next lower one runs: the job goes on in every case. They
 * may begin before or after CUDA does.
 *
 *  Trace holds a kernel's launch to its scope by CUPTI's correlation ids, times
 * everything on the clock of the scopes, and keeps at most 64 MiB of records that wait;
 * what found no room is counted in `capture_capabilities`. PcSampling notes where the
 * warps of all kernels stand each 2^15 cycles: samples belong to instructions, not to
 * single launches, and a GPU gives them to one process at a time: others of ours trace.
 * One profiler at a time has CUPTI: under Nsight, compute-sanitizer or PyTorch's
 * profiler, Monitor runs. */
enum gpufl_profiling_engine {
    GPUFL_ENGINE_MONITOR = 0,     /**< device and host figures, scopes; no CUPTI */
    GPUFL_ENGINE_TRACE = 1,       /**< kernels, copies, sets, waits of the host */
    GPUFL_ENGINE_PC_SAMPLING = 2, /**< stall reasons by function, instruction and line */
    GPUFL_ENGINE_SASS_METRICS = 3,
    GPUFL_ENGINE_RANGE_PROFILER = 4,
    GPUFL_ENGINE_DEEP = 5,
    GPUFL_ENGINE_PM_SAMPLING = 6,
    GPUFL_ENGINE_RANGE_PROFILER_KERNEL_REPLAY = 7
};

/** What to record. Fill it by GPUFL_INIT_OPTIONS_DEFAULT or gpufl_init_options_default(),
 *  then change fields. Strings are copied by gpufl_init; NULL counts as "".
 *
 *  A field that differs from its default beats the environment, the environment beats the
 *  configuration file, the file beats the default; GPUFL_DISABLED beats everything. The
 *  capture and engine fields are accepted and recorded (`capture_capabilities` at the
 *  session's end); they take effect from GPUFL_ENGINE_TRACE up. */
struct gpufl_init_options {
    size_t struct_size;   /**< set by the initialiser; tells which fields the caller
                             knows */
    const char *app_name; /**< shown by dashboards; default "gpufl" */
    const char
        *log_path; /**< directory of the sessions; "" = app_name in the current one */
    const char *backend_url; /**< kept for gpufl_upload_logs; the collector opens no
                                  connection. GPUFL_BACKEND_URL */
    const char *api_key;     /**< likewise. GPUFL_API_KEY */
    const char *api_path;    /**< likewise. GPUFL_API_PATH */
    bool remote_upload;      /**< deprecated: one line on stderr, no upload.
                                GPUFL_REMOTE_UPLOAD */
    bool enable_stack_trace; /**< the job's call stack at each launch (`stack_trace` of
                                  kernel_detail) and wait (`function_id`), by names of
                                  functions; some 1 us a launch */
    bool enable_source_collection;    /**< PcSampling: the source line of each sample, and
                                           the text of these files; of modules compiled with
                                           -lineinfo and loaded after gpufl_init. Default
                                           true */
    bool enable_external_correlation; /**< ids that cuptiActivityPushExternalCorrelationId
                                           put on a kernel's launch; a thread that made
                                           1,024 launches without is asked at each 16th.
                                           Default true */
    bool enable_synchronization;      /**< waits of the host for an event, a stream, the
                                           context; queries are none. Default true */
    bool enable_memory_tracking;      /**< allocations: bytes, address, duration */
    bool enable_cuda_graphs_tracking; /**< one record a graph's launch, in place of its
                                           kernels */
    int system_sample_rate_ms;        /**< ms between samples; 0 (default) = none */
    int kernel_sample_rate_ms;        /**< deprecated, without effect */
    bool continuous_system_sampling;  /**< true: from init to shutdown; false: only inside
                                           scopes and gpufl_system_start/stop */
    enum gpufl_backend_kind backend;
    enum gpufl_profiling_engine profiling_engine; /**< GPUFL_PROFILING_ENGINE, by name */
    const char *config_file;  /**< JSON object with these field names as keys.
                                   GPUFL_CONFIG_FILE */
    bool flush_logs_always;   /**< sync the file after each write; slow. Also
                                   GPUFL_FLUSH_LOGS_ALWAYS */
    bool enable_debug_output; /**< say on stderr what happens. Also GPUFL_DEBUG */
    bool enabled; /**< false: gpufl_init returns GPUFL_OFF, all calls do nothing */
    int pm_sampling_interval_us;     /**< default 100 */
    int pm_sampling_max_samples;     /**< default 4096 */
    const char *pm_sampling_preset;  /**< default "overview" */
    const char *pm_sampling_metrics; /**< names, separated by commas */
    bool pm_sampling_scope_only;     /**< default true */
    bool deep_window_only;
    int simulated_gpus;  /**< 0 to 16 made-up GPUs, vendor "SIMULATED", when no real one
                              answers; for demos and tests. Also GPUFL_SIMULATED_GPUS */
    bool device_details; /**< more columns of NVIDIA devices: throttle reasons, this
                              process's memory and utilisation, NVLink, Xid errors; MIG
                              devices as devices. Off, as older servers know fewer
                              columns. Also GPUFL_DEVICE_DETAILS */
};

/** Initialiser with every default. */
#define GPUFL_INIT_OPTIONS_DEFAULT                                                       \
    {                                                                                    \
        sizeof(struct gpufl_init_options), "gpufl", "", "", "", "", false, false, true,  \
            true, true, false, false, 0, 0, false, GPUFL_BACKEND_AUTO,                   \
            GPUFL_ENGINE_MONITOR, "", false, false, true, 100, 4096, "overview", "",     \
            true, false, 0, false                                                        \
    }

/** Fills \p options with the defaults. */
GPUFL_API void gpufl_init_options_default(struct gpufl_init_options *options);

/** Starts a session: makes `<log_path>/<session id>/` and the writer thread. A session
 * that runs already is shut down first. \p options may be NULL for the defaults. \return
 * GPUFL_OK; GPUFL_OFF when switched off (no file, no thread); GPUFL_ERR_USAGE for a field
 * out of range; GPUFL_ERR_IO when the directory cannot be made (one sentence on stderr
 * says why). A missing GPU is no error. The job goes on in every case. */
GPUFL_API gpufl_status gpufl_init(const struct gpufl_init_options *options);

/** Ends the session: writes what is left and the closing records, releases the directory.
 *  A second call, or one without gpufl_init, does nothing. */
GPUFL_API void gpufl_shutdown(void);

/** The id of the running session ("" when none) into \p out, NUL-terminated.
 *  \return GPUFL_OK, or GPUFL_ERR_NOT_FOUND without a session. */
GPUFL_API gpufl_status gpufl_session_id(char out[40]);

/** True when gpufl is off: by GPUFL_DISABLED (1, true, yes, on in any case) or because
 * the last gpufl_init had enabled = false. libgpufl-upload asks this too, if both are
 * loaded. */
GPUFL_API bool gpufl_is_disabled(void);

/** Writes what has been recorded so far and returns when it is in the files. Blocks for a
 * few milliseconds; nothing without a session. */
GPUFL_API void gpufl_flush(void);

/** Counters of the running session, or of the last one after its end. */
struct gpufl_stats {
    size_t struct_size;       /**< set it by GPUFL_STATS_INIT */
    uint64_t scopes_recorded; /**< pairs in the files */
    uint64_t scopes_dropped;  /**< pairs that did not fit a ring */
    uint64_t samples;         /**< of host and devices together */
    uint64_t bytes_written;
    uint64_t bytes_lost;       /**< lines that no file took */
    uint64_t names_overflowed; /**< uses of "(other)", since the process began */
};

#define GPUFL_STATS_INIT                                                                 \
    {                                                                                    \
        sizeof(struct gpufl_stats), 0, 0, 0, 0, 0, 0                                     \
    }

/** Fills \p stats. \return GPUFL_OK, or GPUFL_ERR_NOT_FOUND when there was no session. */
GPUFL_API gpufl_status gpufl_get_stats(struct gpufl_stats *stats);

/** Writes a plain text summary of the session that ended last: duration, scopes and
 * (traced) kernels by time, device and host figures, losses. \p path NULL or "" =
 * standard output. \return GPUFL_OK, GPUFL_ERR_NOT_FOUND without an ended session,
 * GPUFL_ERR_IO. */
GPUFL_API gpufl_status gpufl_generate_report(const char *path);

/** A running scope; all zero when it is not recorded. Pass it on as it is. */
struct gpufl_scope {
    uint64_t instance;
    uint32_t name_id;
    uint16_t depth;
    uint16_t generation;
};

/** Begins a named region on this thread. \p name is copied once for each distinct text;
 *  beyond 65,536 names or 8 MiB of text the row says "(other)". Costs well under 100 ns
 * after a thread's first scope; never blocks. When the writer cannot keep up, the whole
 * pair is dropped and counted (`capture_capabilities` at the session's end). */
GPUFL_API struct gpufl_scope gpufl_scope_begin(const char *name);

/** Ends a region. Must be called by the thread that began it; elsewhere it is ignored. */
GPUFL_API void gpufl_scope_end(struct gpufl_scope scope);

/** Marks the start of a phase of system monitoring; samples are taken until the matching
 *  gpufl_system_stop, if a sample rate is set. NULL or "" means "system". */
GPUFL_API void gpufl_system_start(const char *name);

/** Marks the end of a phase. Harmless without a start. */
GPUFL_API void gpufl_system_stop(const char *name);

/** Runs \p fn(\p arg) inside a scope. */
static inline void gpufl_monitor(const char *name, void (*fn)(void *arg), void *arg)
{
    struct gpufl_scope scope = gpufl_scope_begin(name);
    fn(arg);
    gpufl_scope_end(scope);
}

#if defined(__GNUC__) && !defined(__cplusplus)
/** \cond internal */
struct gpufl_scope_guard {
    struct gpufl_scope scope;
    bool entered;
};
static inline void gpufl_scope_guard_end(struct gpufl_scope_guard *guard)
{
    gpufl_scope_end(guard->scope);
}
#define GPUFL_JOIN2(a, b) a##b
#define GPUFL_JOIN(a, b)  GPUFL_JOIN2(a, b)
/** \endcond */

/** `GFL_SCOPE("name") { … }` records the block. Leaving it by return or goto ends the
 * scope too; `break` and `continue` leave this block only, not a loop around it. */
#define GFL_SCOPE(name)                                                                  \
    for (struct gpufl_scope_guard GPUFL_JOIN(gpufl_guard_, __LINE__) __attribute__((     \
             cleanup(gpufl_scope_guard_end))) = {gpufl_scope_begin(name), false};        \
         !GPUFL_JOIN(gpufl_guard_, __LINE__).entered;                                    \
         GPUFL_JOIN(gpufl_guard_, __LINE__).entered = true)
#endif

#ifdef __cplusplus
}
#endif

#endif
