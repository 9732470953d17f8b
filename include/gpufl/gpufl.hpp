/* SPDX-License-Identifier: Apache-2.0 */
/* The C++ API: header-only, C++11 or later. It needs libgpufl and, if uploadLogs is used,
 * libgpufl-upload. Names and field order are those of the existing client's API reference. */
#ifndef GPUFL_HPP
#define GPUFL_HPP

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gpufl/gpufl.h>
#include <gpufl/upload.h>

namespace gpufl {

/** Source of the device metrics. */
enum class BackendKind { Auto, Nvidia, Amd, None };

/** How much to record; see gpufl_profiling_engine for what is implemented. */
enum class ProfilingEngine {
    Monitor,
    Trace,
    PcSampling,
    SassMetrics,
    RangeProfiler,
    Deep,
    PmSampling,
    RangeProfilerKernelReplay
};

/** Fields, order and defaults of the reference, followed by later fields. See gpufl.h. */
struct InitOptions {
    std::string app_name = "gpufl";
    std::string log_path = "";
    std::string backend_url = "";
    std::string api_key = "";
    std::string api_path = "";
    bool remote_upload = false;
    bool enable_stack_trace = false;
    bool enable_source_collection = true;
    bool enable_external_correlation = true;
    bool enable_synchronization = true;
    bool enable_memory_tracking = false;
    bool enable_cuda_graphs_tracking = false;
    int system_sample_rate_ms = 0;
    int kernel_sample_rate_ms = 0;
    bool continuous_system_sampling = false;
    BackendKind backend = BackendKind::Auto;
    ProfilingEngine profiling_engine = ProfilingEngine::Monitor;
    std::string config_file = "";
    bool flush_logs_always = false;
    bool enable_debug_output = false;
    bool enabled = true;
    int pm_sampling_interval_us = 100;
    int pm_sampling_max_samples = 4096;
    std::string pm_sampling_preset = "overview";
    std::vector<std::string> pm_sampling_metrics = {};
    bool pm_sampling_scope_only = true;
    bool deep_window_only = false;
    int simulated_gpus = 0;
    bool device_details = false;
};

/** Starts a session. \return true if it runs; false if gpufl is disabled or the session cannot be
 *  created (a message on stderr says why). */
inline bool init(const InitOptions &opts)
{
    gpufl_init_options c = GPUFL_INIT_OPTIONS_DEFAULT;
    std::string metrics;
    for (const std::string &metric : opts.pm_sampling_metrics) {
        metrics += (metrics.empty() ? "" : ",") + metric;
    }
    c.app_name = opts.app_name.c_str();
    c.log_path = opts.log_path.c_str();
    c.backend_url = opts.backend_url.c_str();
    c.api_key = opts.api_key.c_str();
    c.api_path = opts.api_path.c_str();
    c.remote_upload = opts.remote_upload;
    c.enable_stack_trace = opts.enable_stack_trace;
    c.enable_source_collection = opts.enable_source_collection;
    c.enable_external_correlation = opts.enable_external_correlation;
    c.enable_synchronization = opts.enable_synchronization;
    c.enable_memory_tracking = opts.enable_memory_tracking;
    c.enable_cuda_graphs_tracking = opts.enable_cuda_graphs_tracking;
    c.system_sample_rate_ms = opts.system_sample_rate_ms;
    c.kernel_sample_rate_ms = opts.kernel_sample_rate_ms;
    c.continuous_system_sampling = opts.continuous_system_sampling;
    c.backend = static_cast<gpufl_backend_kind>(opts.backend);
    c.profiling_engine = static_cast<gpufl_profiling_engine>(opts.profiling_engine);
    c.config_file = opts.config_file.c_str();
    c.flush_logs_always = opts.flush_logs_always;
    c.enable_debug_output = opts.enable_debug_output;
    c.enabled = opts.enabled;
    c.pm_sampling_interval_us = opts.pm_sampling_interval_us;
    c.pm_sampling_max_samples = opts.pm_sampling_max_samples;
    c.pm_sampling_preset = opts.pm_sampling_preset.c_str();
    c.pm_sampling_metrics = metrics.c_str();
    c.pm_sampling_scope_only = opts.pm_sampling_scope_only;
    c.deep_window_only = opts.deep_window_only;
    c.simulated_gpus = opts.simulated_gpus;
    c.device_details = opts.device_details;
    return gpufl_init(&c) == GPUFL_OK;
}

/** Ends the session; does nothing without one. */
inline void shutdown()
{
    gpufl_shutdown();
}

inline void systemStart(const std::string &name = "system")
{
    gpufl_system_start(name.c_str());
}

inline void systemStop(const std::string &name = "system")
{
    gpufl_system_stop(name.c_str());
}

/** Writes a text summary of the last session that ended; "" = standard output. */
inline void generateReport(const std::string &output_path = "")
{
    (void)gpufl_generate_report(output_path.c_str());
}

/** Records a scope from construction to destruction. */
class ScopedMonitor {
public:
    explicit ScopedMonitor(const char *name) : scope_(gpufl_scope_begin(name))
    {
    }
    explicit ScopedMonitor(const std::string &name) : ScopedMonitor(name.c_str())
    {
    }
    ScopedMonitor(const ScopedMonitor &) = delete;
    ScopedMonitor &operator=(const ScopedMonitor &) = delete;
    ~ScopedMonitor()
    {
        gpufl_scope_end(scope_);
    }

private:
    gpufl_scope scope_;
};

/** \cond internal */
/** The scope of GFL_SCOPE: its block is the `else` of an `if` that is never taken. */
class BlockScope : public ScopedMonitor {
public:
    using ScopedMonitor::ScopedMonitor;
    explicit operator bool() const
    {
        return false;
    }
};
/** \endcond */

/** Runs \p fn inside a scope and returns its result. Exceptions propagate. */
template <typename F>
inline auto monitor(const char *name, F &&fn) -> decltype(std::forward<F>(fn)())
{
    ScopedMonitor scope(name);
    return std::forward<F>(fn)();
}

template <typename F>
inline auto monitor(const std::string &name, F &&fn) -> decltype(std::forward<F>(fn)())
{
    return monitor(name.c_str(), std::forward<F>(fn));
}

/** See gpufl_upload_options. retry_delay_ms, report_progress and the progress intervals of the
 *  existing client are accepted and ignored: retries back off exponentially, with jitter. */
struct UploadOptions {
    std::string log_path;
    std::string backend_url;
    std::string api_key;
    std::string api_path;
    int total_timeout_ms = 300000;
    int connect_timeout_ms = 10000;
    int read_timeout_ms = 30000;
    int max_retries = 5;
    int retry_delay_ms = 1000;
    std::string session_id_filter;
    bool all_sessions = false;
    bool force = false;
    bool report_progress = true;
    int progress_log_interval_ms = 5000;
    std::size_t progress_log_interval_bytes = 52428800;
};

/** See gpufl_upload_result. */
struct UploadResult {
    bool success = false;
    std::size_t files_processed = 0;
    std::size_t files_skipped_by_cursor = 0;
    std::size_t events_uploaded = 0;
    std::size_t bytes_uploaded = 0;
    std::int64_t elapsed_ms = 0;
    std::vector<std::string> warnings;
    std::vector<std::string> spool_ids;
};

/** Uploads within total_timeout_ms. Throws only std::bad_alloc. */
inline UploadResult uploadLogs(const UploadOptions &opts)
{
    gpufl_upload_options c = GPUFL_UPLOAD_OPTIONS_DEFAULT;
    gpufl_upload_result r{};
    UploadResult out;
    r.struct_size = sizeof r;
    c.log_path = opts.log_path.c_str();
    c.backend_url = opts.backend_url.c_str();
    c.api_key = opts.api_key.c_str();
    c.api_path = opts.api_path.c_str();
    c.total_timeout_ms = opts.total_timeout_ms;
    c.connect_timeout_ms = opts.connect_timeout_ms;
    c.read_timeout_ms = opts.read_timeout_ms;
    c.max_retries = opts.max_retries;
    c.session_id = opts.session_id_filter.c_str();
    c.all_sessions = opts.all_sessions;
    c.force = opts.force;
    gpufl_status status = gpufl_upload_logs(&c, &r);
    out.success = r.success;
    out.files_processed = r.files_processed;
    out.files_skipped_by_cursor = r.files_skipped_by_cursor;
    out.events_uploaded = static_cast<std::size_t>(r.events_uploaded);
    out.bytes_uploaded = static_cast<std::size_t>(r.bytes_uploaded);
    out.elapsed_ms = r.elapsed_ms;
    for (unsigned i = 0; i < r.warning_count && i < GPUFL_UPLOAD_WARNINGS_MAX; i++) {
        out.warnings.push_back(r.warnings[i]);
    }
    if (status != GPUFL_OK) {
        out.warnings.push_back(r.message);
    }
    for (unsigned i = 0; i < r.spool_id_count && i < GPUFL_UPLOAD_SPOOL_IDS_MAX; i++) {
        out.spool_ids.push_back(r.spool_ids[i]);
    }
    return out;
}

} /* namespace gpufl */

/** `GFL_SCOPE("name") { … }` records the block. `return`, `break`, `continue` and exceptions behave
 *  as they do without it, and end the scope. It is one statement: an `else` behind the block belongs
 *  to the `if` in front of the macro, also without braces.
 *
 *  Only an `if` leaves `break` to the loop around it, and only one with an `else` of its own takes no
 *  other. Compilers warn of such an `if` within one without braces, g++ at the outer one, where no
 *  macro reaches: so this header switches -Wdangling-else off for g++, from here to the end of the
 *  file. `#pragma GCC diagnostic warning "-Wdangling-else"` behind it switches it on again. */
#define GPUFL_CPP_JOIN2(a, b) a##b
#define GPUFL_CPP_JOIN(a, b)  GPUFL_CPP_JOIN2(a, b)
#if defined(__clang__)
#define GPUFL_CPP_QUIET                                                                  \
    _Pragma("clang diagnostic push")                                                     \
    _Pragma("clang diagnostic ignored \"-Wdangling-else\"")
#define GPUFL_CPP_LOUD _Pragma("clang diagnostic pop")
#else
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wdangling-else"
#endif
#define GPUFL_CPP_QUIET
#define GPUFL_CPP_LOUD
#endif
#if defined(__GNUC__)
#define GPUFL_CPP_NEVER __builtin_unreachable() /* what is behind a `return` stays so */
#else
#define GPUFL_CPP_NEVER
#endif
#define GFL_SCOPE(name)                                                                  \
    GPUFL_CPP_QUIET                                                                      \
    if (::gpufl::BlockScope GPUFL_CPP_JOIN(gpufl_scope_, __LINE__){name}) {              \
        GPUFL_CPP_NEVER;                                                                 \
    } else                                                                               \
        GPUFL_CPP_LOUD

#endif
