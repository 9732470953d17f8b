/* SPDX-License-Identifier: Apache-2.0 */
/* The C++ API: header-only, C++11 or later. It needs libgpufl and, if uploadLogs is used,
 * libgpufl-upload. Names and field order are those of the existing client's API reference. */
#ifndef GPUFL_HPP
#define GPUFL_HPP

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory> /* the reference's programs keep a ScopedMonitor in a std::unique_ptr */
#include <mutex>
#include <string>
#include <utility>

#include <gpufl/gpufl.h>
#include <gpufl/options.hpp>
#include <gpufl/upload/upload_logs.hpp>

namespace gpufl {

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
    c.kernel_details = opts.kernel_details.c_str();
    c.trace_buffer_kib = opts.trace_buffer_kib;
    c.source_roots = opts.source_roots.c_str();
    c.pc_sampling_buffer_mib = opts.pc_sampling_buffer_mib;
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

/** How bad it is what a message says. */
enum class LogLevel { Error, Warning, Info };

using LogCallback = std::function<void(LogLevel, const std::string &)>;

/** Passes messages to \p log that would be written to stderr; an empty function: to stderr again.
 *  See gpufl_set_log_callback() for the threads that call it and what it may do; it must not call
 *  this function, and must not throw. \return false if the function that is set has not returned
 *  for 3 s, which stays set. */
inline bool setLogCallback(LogCallback log)
{
    static std::mutex lock;
    static LogCallback *kept = nullptr; /* not destroyed: messages may come behind the end of main */
    std::lock_guard<std::mutex> guard(lock);
    LogCallback *next = log ? new LogCallback(std::move(log)) : nullptr;
    gpufl_log_fn call = [](void *function, gpufl_log_level level, const char *line) {
        (*static_cast<LogCallback *>(function))(static_cast<LogLevel>(level), line);
    };
    bool replaced = gpufl_set_log_callback(next ? call : nullptr, next) == GPUFL_OK;
    delete (replaced ? kept : next);
    kept = replaced ? next : kept;
    return replaced;
}

/** Writes a text summary of the last session that ended; "" = standard output. If it cannot, a
 *  message on stderr says so; gpufl_generate_report() returns a status. */
inline void generateReport(const std::string &output_path = "")
{
    gpufl_status status = gpufl_generate_report(output_path.c_str());
    if (status == GPUFL_ERR_NOT_FOUND) {
        std::fputs("[GPUFL] no report: no session has ended (call shutdown() first)\n", stderr);
    } else if (status != GPUFL_OK) {
        std::fprintf(stderr, "[GPUFL] no report: %s: cannot be written\n",
                     output_path.empty() ? "standard output" : output_path.c_str());
    }
}

/** What a scope may say besides its name. The tag is accepted and not recorded, as by the existing
 *  client. */
struct ScopeMeta {
    std::string tag = {};
    std::uint32_t repeat = 0; /**< measured runs of the body; 0 = not said */
    std::uint32_t warmup = 0; /**< runs before the scope */

    ScopeMeta &setTag(const std::string &value)
    {
        tag = value;
        return *this;
    }
    ScopeMeta &setRepeat(std::uint32_t value)
    {
        repeat = value;
        return *this;
    }
    ScopeMeta &setWarmup(std::uint32_t value)
    {
        warmup = value;
        return *this;
    }
};

/** Records a scope from construction to destruction. Tags, and whether a scope is to be profiled
 *  deeply, are accepted and not recorded. */
class ScopedMonitor {
public:
    explicit ScopedMonitor(const char *name) : scope_(gpufl_scope_begin(name))
    {
    }
    explicit ScopedMonitor(const std::string &name) : ScopedMonitor(name.c_str())
    {
    }
    ScopedMonitor(const std::string &name, const char *) : ScopedMonitor(name)
    {
    }
    ScopedMonitor(const std::string &name, const std::string &) : ScopedMonitor(name)
    {
    }
    ScopedMonitor(const std::string &name, const std::string &, bool) : ScopedMonitor(name)
    {
    }
    ScopedMonitor(const std::string &name, bool) : ScopedMonitor(name)
    {
    }
    ScopedMonitor(const std::string &name, const ScopeMeta &meta)
        : scope_(gpufl_scope_begin_repeated(name.c_str(), meta.repeat, meta.warmup))
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

/** The loop of GFL_BENCH. */
class BenchLoop {
public:
    BenchLoop(const std::string &name, const ScopeMeta &meta) : name_(name), meta_(meta)
    {
    }
    template <typename F> void operator+=(F &&body)
    {
        if (meta_.warmup) {
            ScopedMonitor scope(name_ + "_warmup", ScopeMeta().setRepeat(meta_.warmup));
            run(body, meta_.warmup);
        }
        ScopedMonitor scope(name_, meta_);
        run(body, meta_.repeat);
    }

private:
    template <typename F> static void run(F &body, std::uint32_t times)
    {
        for (std::uint32_t i = 0; i < times; i++) {
            body();
        }
    }
    std::string name_;
    ScopeMeta meta_;
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

/** As the existing client's; the tag is not recorded. */
inline void monitor(const std::string &name, const std::string &, const std::function<void()> &fn)
{
    monitor(name, fn);
}

/** The bounds of a deep window. */
struct DeepWindowSpec {
    std::int64_t max_duration_ms = 0;
    std::uint64_t max_launches = 0;
    std::int64_t cooldown_ms = 0;
    std::string name = "deep_window";
};

/** Deep windows need an engine that has them, and none of those that are implemented does: no window
 *  opens, as with such an engine of the existing client. */
inline void deepWindow(const DeepWindowSpec &)
{
}
inline void deepWindow(std::int64_t, std::uint64_t = 0)
{
}
inline void deepWindowClose()
{
}
inline bool deepWindowActive()
{
    return false;
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
#if defined(__clang__)
#define GPUFL_CPP_QUIET                                                                  \
    GPUFL_QUIET _Pragma("clang diagnostic ignored \"-Wdangling-else\"")
#define GPUFL_CPP_LOUD GPUFL_LOUD
#else
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wdangling-else"
#endif
#define GPUFL_CPP_QUIET
#define GPUFL_CPP_LOUD [[]] /* g++ warns of the `;` of an empty block right behind `else` */
#endif
#if defined(__GNUC__)
#define GPUFL_CPP_NEVER __builtin_unreachable() /* what is behind a `return` stays so */
#else
#define GPUFL_CPP_NEVER
#endif
#define GPUFL_CPP_SCOPE_AS(scope, name)                                                  \
    GPUFL_CPP_QUIET                                                                      \
    if (::gpufl::BlockScope scope{name}) {                                               \
        GPUFL_CPP_NEVER;                                                                 \
    } else                                                                               \
        GPUFL_CPP_LOUD
#define GFL_SCOPE(name) GPUFL_CPP_SCOPE_AS(GPUFL_UNIQUE(gpufl_scope_), name)

/** As the existing client's; tag and depth are not recorded. */
#define GFL_SCOPE_TAGGED(name, tag, deep_profiling) GFL_SCOPE(name)

/** `GFL_BENCH("name", gpufl::ScopeMeta{}.setRepeat(10).setWarmup(3)) { … };` runs the block three
 *  times in a scope "name_warmup", then ten times in one "name", which records both numbers. The
 *  block is a lambda: `return` leaves only this run of it. */
#define GFL_BENCH(name, ...)                                                             \
    ::gpufl::BenchLoop(name, ::gpufl::ScopeMeta{__VA_ARGS__}) += [&]()

#define GFL_SYSTEM_START(name) ::gpufl::systemStart(name)
#define GFL_SYSTEM_STOP(name)  ::gpufl::systemStop(name)

#endif
