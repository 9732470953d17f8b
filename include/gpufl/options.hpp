/* SPDX-License-Identifier: Apache-2.0 */
/* The options of gpufl::init(). Programs include gpufl.hpp. */
#ifndef GPUFL_OPTIONS_HPP
#define GPUFL_OPTIONS_HPP

#include <string>
#include <vector>

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

/** The name of an engine in `requested_engine` and `selected_engine` of the records. */
inline const char *ProfilingEngineWireName(ProfilingEngine engine)
{
    switch (engine) {
    case ProfilingEngine::Monitor:
        break;
    case ProfilingEngine::Trace:
        return "nvidia.trace";
    case ProfilingEngine::PcSampling:
        return "nvidia.pc_sampling";
    case ProfilingEngine::SassMetrics:
        return "nvidia.sass_metrics";
    case ProfilingEngine::RangeProfiler:
        return "nvidia.range_profiler";
    case ProfilingEngine::Deep:
        return "nvidia.pc_sampling_with_sass";
    case ProfilingEngine::PmSampling:
        return "nvidia.pm_sampling";
    case ProfilingEngine::RangeProfilerKernelReplay:
        return "nvidia.range_profiler_kernel_replay";
    }
    return "nvidia.none";
}

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
    std::string kernel_details = "";
    int trace_buffer_kib = 1024;
    std::string source_roots = ".";
    int pc_sampling_buffer_mib = 64;
};

} /* namespace gpufl */

#endif
