/* SPDX-License-Identifier: Apache-2.0 */
/* Uses what programs of the existing client 1.3 use besides the reference's API, by its headers.
 * Arguments: the directory of the logs, a backend or "". Prints what it counted (S2-18, S2-102). */
#include "gpufl/core/common.hpp"
#include "gpufl/core/debug_logger.hpp"
#include "gpufl/core/monitor.hpp"
#include "gpufl/gpufl.hpp"
#include "gpufl/upload/upload_logs.hpp"

#include <cstdio>

static const gpufl::ProfilingEngine engines[] = {
    gpufl::ProfilingEngine::Monitor,       gpufl::ProfilingEngine::Trace,
    gpufl::ProfilingEngine::PcSampling,    gpufl::ProfilingEngine::SassMetrics,
    gpufl::ProfilingEngine::RangeProfiler, gpufl::ProfilingEngine::Deep,
    gpufl::ProfilingEngine::PmSampling,    gpufl::ProfilingEngine::RangeProfilerKernelReplay};

static int benches()
{
    int runs = 0;
    GFL_BENCH("bench", gpufl::ScopeMeta{}.setRepeat(10).setWarmup(3).setTag("ml"))
    {
        runs++;
    };
    GFL_BENCH("repeated", gpufl::ScopeMeta{}.setRepeat(2))
    {
        runs += 100;
    };
#if __cplusplus >= 202002L
    GFL_BENCH("repeated", .repeat = 2)
    {
        runs += 0;
    };
    GFL_BENCH("not at all")
    {
        runs += 10000;
    };
#endif
    return runs;
}

static void scopes()
{
    std::unique_ptr<gpufl::ScopedMonitor> kept;
    kept.reset(new gpufl::ScopedMonitor("kept"));
    gpufl::ScopeMeta meta;
    meta.repeat = 4;
    {
        gpufl::ScopedMonitor a("tagged", "math");
        gpufl::ScopedMonitor b(std::string("tagged"), std::string("math"), true);
        gpufl::ScopedMonitor c("deep", true);
        gpufl::ScopedMonitor d("meta", meta);
    }
    gpufl::monitor("lambda", "math", []() {});
    GFL_SCOPE_TAGGED("tagged", "math", false)
    {
    }
}

static void windows()
{
    gpufl::DeepWindowSpec spec;
    spec.max_duration_ms = 3000;
    spec.cooldown_ms = 60000;
    gpufl::deepWindow(3000);
    gpufl::deepWindow(0, 100);
    gpufl::deepWindow(spec);
    gpufl::deepWindowClose();
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        return 2;
    }
    for (gpufl::ProfilingEngine engine : engines) {
        std::printf("%s ", gpufl::ProfilingEngineWireName(engine));
    }
    gpufl::InitOptions opts;
    opts.log_path = argv[1];
    opts.backend = gpufl::BackendKind::None;
    opts.backend_url = argv[2];
    opts.api_key = "gpfl_marker_key";
    opts.deep_window_only = true;
    if (!gpufl::init(opts)) {
        return 3;
    }
    GFL_SYSTEM_START("phase");
    std::printf("\n%d ", benches());
    scopes();
    windows();
    GFL_SYSTEM_STOP("phase");
    gpufl::shutdown();
    GFL_LOG_DEBUG("not ", "written");
    gpufl::DebugLogger::setEnabled(true);
    GFL_LOG_DEBUG("one ", 1);
    GFL_LOG_WARN("two ", 2.5, std::string(" more"));
    GFL_LOG_INFO("three");
    GFL_LOG_ERROR("four ", 4);
    gpufl::UploadResult result;
    if (*argv[2]) {
        result = gpufl::uploadLogs(opts);
    }
    std::printf("%d %d %zu\n", gpufl::deepWindowActive(), result.success, result.events_uploaded);
    return 0;
}
