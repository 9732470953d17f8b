/* SPDX-License-Identifier: Apache-2.0 */
/* Uses every public name of the existing client's C++ reference (S2-01 to S2-57). Linked with
 * names_too.cpp, so that the header stands in two units. */
#include <gpufl/gpufl.hpp>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <type_traits>

int second_unit();

using gpufl::InitOptions;

/* S2-02: names, types and order of the 21 fields; S2-03: their defaults. */
#define IS(field, type)                                                                  \
    static_assert(std::is_same<decltype(InitOptions::field), type>::value, #field)
IS(app_name, std::string);
IS(log_path, std::string);
IS(backend_url, std::string);
IS(api_key, std::string);
IS(api_path, std::string);
IS(remote_upload, bool);
IS(enable_stack_trace, bool);
IS(enable_source_collection, bool);
IS(enable_external_correlation, bool);
IS(enable_synchronization, bool);
IS(enable_memory_tracking, bool);
IS(enable_cuda_graphs_tracking, bool);
IS(system_sample_rate_ms, int);
IS(kernel_sample_rate_ms, int);
IS(continuous_system_sampling, bool);
IS(backend, gpufl::BackendKind);
IS(profiling_engine, gpufl::ProfilingEngine);
IS(config_file, std::string);
IS(flush_logs_always, bool);
IS(enable_debug_output, bool);
IS(enabled, bool);

/* S2-54, S2-57 */
static_assert(!std::is_convertible<gpufl::BackendKind, int>::value, "enum class");
static_assert(static_cast<int>(gpufl::BackendKind::Auto) == 0, "");
static_assert(static_cast<int>(gpufl::BackendKind::Nvidia) == 1, "");
static_assert(static_cast<int>(gpufl::BackendKind::Amd) == 2, "");
static_assert(static_cast<int>(gpufl::BackendKind::None) == 3, "");
static_assert(!std::is_convertible<gpufl::ProfilingEngine, int>::value, "enum class");
static_assert(static_cast<int>(gpufl::ProfilingEngine::Monitor) == 0, "");
static_assert(static_cast<int>(gpufl::ProfilingEngine::Trace) == 1, "");
static_assert(static_cast<int>(gpufl::ProfilingEngine::PcSampling) == 2, "");
static_assert(static_cast<int>(gpufl::ProfilingEngine::SassMetrics) == 3, "");
static_assert(static_cast<int>(gpufl::ProfilingEngine::RangeProfiler) == 4, "");
static_assert(static_cast<int>(gpufl::ProfilingEngine::Deep) == 5, "");

static bool defaults_hold()
{
    InitOptions o;
    return o.app_name == "gpufl" && o.log_path.empty() && o.backend_url.empty() &&
           o.api_key.empty() && o.api_path.empty() && !o.remote_upload &&
           !o.enable_stack_trace && o.enable_source_collection &&
           o.enable_external_correlation && o.enable_synchronization &&
           !o.enable_memory_tracking && !o.enable_cuda_graphs_tracking &&
           o.system_sample_rate_ms == 0 && o.kernel_sample_rate_ms == 0 &&
           !o.continuous_system_sampling && o.backend == gpufl::BackendKind::Auto &&
           o.profiling_engine == gpufl::ProfilingEngine::Monitor && o.config_file.empty() &&
           !o.flush_logs_always && !o.enable_debug_output && o.enabled;
}

static int leaves_by_return()
{
    GFL_SCOPE("returned")
    {
        return 7;
    }
    return 0;
}

static void scopes()
{
    int captured = 0;
    GFL_SCOPE("macro")
    {
        GFL_SCOPE(std::string("nested"))
        {
            captured++;
        }
    }
    {
        gpufl::ScopedMonitor scope("object");
        captured++;
    }
    gpufl::monitor("lambda", [&]() { captured++; });
    if (gpufl::monitor("result", []() { return 5; }) != 5 || captured != 3) {
        throw std::logic_error("captures and results pass through");
    }
    for (int i = 0; i < 3; i++) {
        GFL_SCOPE("loop")
        {
            if (i == 0) {
                continue; /* the user's own loop */
            }
            break;
        }
        throw std::logic_error("not reached");
    }
    try {
        GFL_SCOPE("thrown")
        {
            throw std::runtime_error("through");
        }
    } catch (const std::runtime_error &) {
    }
    leaves_by_return();
}

int main(int argc, char **argv)
{
    bool (*init)(const InitOptions &) = gpufl::init; /* S2-04 */
    void (*shutdown)() = gpufl::shutdown;            /* S2-05 */
    if (argc < 3 || !defaults_hold()) {
        return 2;
    }
    shutdown(); /* harmless without a session */
    InitOptions opts;
    opts.app_name = "names";
    opts.log_path = argv[1];
    opts.system_sample_rate_ms = 20;
    opts.kernel_sample_rate_ms = 1000;
    opts.backend = gpufl::BackendKind::None;
    if (!init(opts)) {
        return 3;
    }
    gpufl::systemStart("phase");
    scopes();
    gpufl::systemStop("phase");
    shutdown();
    shutdown();
    gpufl::generateReport(std::string(argv[1]) + ".report");
    if (*argv[2]) {
        gpufl::UploadOptions upload;
        upload.log_path = argv[1];
        upload.backend_url = argv[2];
        upload.api_key = "gpfl_marker_key";
        upload.cursor_filename = ".cursor.json"; /* as in the existing client */
        gpufl::UploadResult result = gpufl::uploadLogs(upload);
        std::printf("%d %zu %zu\n", result.success, result.events_uploaded,
                    result.warnings.size());
    }
    opts.enabled = false;
    return init(opts) ? 4 : second_unit();
}
