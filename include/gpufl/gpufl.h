/* SPDX-License-Identifier: Apache-2.0 */
/* libgpufl: records what a GPU job does, in one directory per session.
 *
 *     struct gpufl_init_options options = GPUFL_INIT_OPTIONS_DEFAULT;
 *     options.app_name = "train";
 *     options.system_sample_rate_ms = 100;
 *     options.continuous_system_sampling = true;
 *     gpufl_init(&options);
 *     GFL_SCOPE("step") { … }
 *     gpufl_shutdown();
 *
 * Every function may be called from any thread. None is async-signal-safe: one that a
 * signal handler calls may wait for ever for a lock that the interrupted thread holds, as
 * that of malloc(); where it is a lock of gpufl's own, the call does nothing, and a scope
 * is lost, and in most cases counted as dropped. Without a session, that is before
 * gpufl_init and after gpufl_shutdown, they do nothing. No function ends the program,
 * changes a signal handler or opens a connection. After fork() the child records nothing
 * until it calls gpufl_init itself. fork() waits up to 1 s while gpufl loads a library,
 * or opens or closes the files of a session; if that hangs, the first fork() alone does.
 * Handlers of pthread_atfork() may call gpufl. In those that were registered before the
 * library was loaded, as by dlopen(), scopes are recorded in the parent, and other calls
 * do nothing.
 *
 * A child that _Fork(), vfork() or clone(2), which call no such handlers, makes while a
 * session runs has none: gpufl_init fails with GPUFL_ERR_IO and ECHILD, and other calls
 * do nothing. But scopes and phases of a child that uses its parent's memory, as one of
 * vfork() does, are recorded in the parent's session. Where that has no descriptor table
 * of its own (gpufl_init), the child holds its lock until it ends or calls exec: readers
 * take the session for running, even if its writer has been killed.
 */
#ifndef GPUFL_H
#define GPUFL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpufl/scope.h>
#include <gpufl/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Source of the device metrics. */
enum gpufl_backend_kind {
    GPUFL_BACKEND_AUTO = 0,   /**< the first vendor whose driver answers: NVIDIA, AMD */
    GPUFL_BACKEND_NVIDIA = 1, /**< NVML: libnvidia-ml.so.1, loaded at run time */
    GPUFL_BACKEND_AMD = 2,    /**< files of the amdgpu driver in /sys (GPUFL_SYSFS) */
    GPUFL_BACKEND_NONE = 3    /**< none; no GPU library is loaded */
};

/** How much to record. Trace includes Monitor, PcSampling includes Trace.
 *
 * Trace and PcSampling need an NVIDIA GPU, libgpufl-cupti.so next to libgpufl.so, and
 * libcupti of CUDA 12 or later. They may be started before or after CUDA. If the
 * requested engine cannot run, or is not implemented yet (SASS_METRICS and later), the
 * next lower engine that works runs, the session records which one was requested, and a
 * message on stderr says why. GPUFL_MAX_ENGINE, a name, is the highest engine that may
 * run, whatever the program asks for; with a name that is none, Monitor runs. The job
 * continues in every case but the one below.
 *
 * Trace assigns each kernel to the scope of its launch by CUPTI's correlation ids. All
 * times are on the clock of the scopes. At most 64 buffers of trace_buffer_kib are filled
 * with records (64 MiB by default); records beyond that are dropped and counted.
 *
 * PcSampling samples the program counters and stall reasons of warps, in all kernels,
 * every 2^15 cycles. Samples belong to instructions, not to single launches. A GPU can be
 * sampled by one process at a time; other recorded processes run Trace. That is so across
 * containers, if they load the same libcuda.so.1, as where NVIDIA's container toolkit
 * mounts that of the host, or share a network namespace. Of containers that have neither
 * in common, as with CUDA's forward compatibility package, sample in only one.
 *
 * Each context that is sampled takes memory: 12 MiB of the GPU's (H100, CUDA 13.0),
 * whatever the size of the buffers, and for these of the host's: 1/32 of what is free, of
 * the GPU or of the host, whichever is less, but at most pc_sampling_buffer_mib; 64 MiB
 * for CUPTI to decode in; and some 30 MiB for what was decoded. Where less than 512 MiB
 * are free, a context is not sampled, and a message says so.
 *
 * PcSampling is experimental where a tool of other makers samples the GPU, too, in this
 * process or in another one: gpufl does not see it, and CUPTI may then fail to stop, or
 * end the process by SIGSEGV, as it did in two of five runs of PyTorch (CUDA 13.0). Use
 * it only where nothing else samples.
 *
 * Only one profiler at a time can use CUPTI: under Nsight, compute-sanitizer or the
 * PyTorch profiler, Monitor runs. */
enum gpufl_profiling_engine {
    GPUFL_ENGINE_MONITOR = 0,     /**< device and host metrics, scopes; no CUPTI */
    GPUFL_ENGINE_TRACE = 1,       /**< kernels, memory copies and sets, synchronisation */
    GPUFL_ENGINE_PC_SAMPLING = 2, /**< stall reasons by function, instruction, line;
                                     experimental beside other samplers */
    GPUFL_ENGINE_SASS_METRICS = 3,
    GPUFL_ENGINE_RANGE_PROFILER = 4,
    GPUFL_ENGINE_DEEP = 5,
    GPUFL_ENGINE_PM_SAMPLING = 6,
    GPUFL_ENGINE_RANGE_PROFILER_KERNEL_REPLAY = 7
};

/** What to record. Initialise it with GPUFL_INIT_OPTIONS_DEFAULT or
 *  gpufl_init_options_default(), then change fields. gpufl_init copies the strings; NULL
 *  means "".
 *
 *  A field that differs from its default takes precedence over the environment, the
 *  environment over the configuration file, and the file over the default. What is wrong
 *  or out of range there is said and ignored; in a field that the program has set, it is
 *  an error. GPUFL_DISABLED is the variable of `enabled`, inverted: set to true, it
 *  overrides everything; set to false, the configuration file, but not the program. The
 *  capture fields are always recorded (`capture_capabilities` at the end of the session)
 *  and take effect with GPUFL_ENGINE_TRACE and higher engines.
 */
struct gpufl_init_options {
    size_t struct_size;   /**< set by the initialiser; tells which fields the caller
                             was compiled with: those that it holds whole. Others have
                             their default */
    const char *app_name; /**< shown by dashboards; default "gpufl". GPUFL_APP_NAME */
    const char *log_path; /**< directory of the sessions; "" = <app_name> in the current
                             directory. GPUFL_LOG_DIR */
    const char *backend_url;       /**< stored for gpufl_upload_logs; the collector opens
                                        no connection. GPUFL_BACKEND_URL */
    const char *api_key;           /**< same. GPUFL_API_KEY */
    const char *api_path;          /**< same. GPUFL_API_PATH */
    bool remote_upload;            /**< deprecated: prints one line on stderr, uploads
                                      nothing. GPUFL_REMOTE_UPLOAD */
    bool enable_stack_trace;       /**< the call stack, as function names, of each launch
                                        (`stack_trace` of kernel_detail) and synchronisation
                                        (`function_id`); costs about 3 us per launch
                                        at the top of a program, 5 us below 20 frames,
                                        10 us below 48 or more */
    bool enable_source_collection; /**< PcSampling: the source line of each sample and the
                                        text of the source files below
                                        source_roots, for modules that were
                                        compiled with -lineinfo and loaded after
                                        gpufl_init. Default true */
    bool enable_external_correlation; /**< ids that frameworks attach to launches by
                                           cuptiActivityPushExternalCorrelationId. A
                                         thread whose first 1,024 launches had none is
                                         checked at every 16th launch. Default true */
    bool enable_synchronization; /**< host synchronisation with an event, a stream or a
                                      context; not queries. Default true */
    bool enable_memory_tracking; /**< allocations: size, address, duration */
    bool enable_cuda_graphs_tracking; /**< one record per graph launch instead of one per
                                           kernel */
    int system_sample_rate_ms;       /**< sampling period in ms; 0 (default) = no samples.
                                      GPUFL_SYSTEM_SAMPLE_RATE_MS */
    int kernel_sample_rate_ms;       /**< deprecated, no effect */
    bool continuous_system_sampling; /**< true: sample from init to shutdown; false: only
                                          inside scopes and phases (gpufl_system_start),
                                          from up to 40 ms behind the begin of the first
                                          one on: shorter ones have few samples or none.
                                          No effect while system_sample_rate_ms is 0,
                                          which the environment may set */
    enum gpufl_backend_kind backend; /**< if no GPU of the vendor that it names answers,
                                          stderr says so, and none is recorded */
    enum gpufl_profiling_engine
        profiling_engine;     /**< GPUFL_PROFILING_ENGINE (a name, in any case) */
    const char *config_file;  /**< a JSON object whose keys are these field names, but
                                   not this one. GPUFL_CONFIG_FILE */
    bool flush_logs_always;   /**< call fdatasync after each write; slow. Also
                                   GPUFL_FLUSH_LOGS_ALWAYS */
    bool enable_debug_output; /**< log to stderr. Also GPUFL_DEBUG */
    bool enabled; /**< false: gpufl_init returns GPUFL_OFF, and all calls do nothing */
    int pm_sampling_interval_us;    /**< 1 to 1000000, default 100. This and the next five
                                       have no effect while PM_SAMPLING and DEEP are not
                                       implemented */
    int pm_sampling_max_samples;    /**< 1 to 1048576, default 4096 */
    const char *pm_sampling_preset; /**< default "overview" */
    const char *pm_sampling_metrics; /**< comma-separated names */
    bool pm_sampling_scope_only;     /**< default true */
    bool deep_window_only;
    int simulated_gpus; /**< 0 to 16 simulated GPUs (vendor "SIMULATED"), used if there is
                           no real one; for demos and tests. Also GPUFL_SIMULATED_GPUS */
    bool device_details; /**< more columns for NVIDIA devices: throttle reasons, memory
                              and utilisation of this process, NVLink, Xid errors; and MIG
                              devices as devices. Off by default, since older servers know
                              fewer columns. Also GPUFL_DEVICE_DETAILS */
    const char *kernel_details; /**< "per_launch": a kernel_detail for each launch, for
                                   tools of the existing client, which join by corr_id;
                                   about 600 bytes each. "" = one for all launches alike.
                                   Other words are ignored. Also GPUFL_KERNEL_DETAILS */
    int trace_buffer_kib; /**< size of each buffer that CUPTI fills with records of Trace
                             and higher engines, in KiB: 64 to 16384, default 1024. There
                             are at most 64 of them. With larger ones CUPTI hands over
                             less often, and the job holds more memory. Also
                             GPUFL_TRACE_BUFFER_KIB */
    const char *source_roots;   /**< directories below which the text of source files is
                                   recorded: absolute ones, separated by ':', or ".", the
                                   working directory of gpufl_init (default), which does
                                   not count if it is "/". "" = none: no text is taken.
                                   Files that lie elsewhere once links are followed are
                                   counted in `capture_capabilities`; their names and
                                   lines are recorded all the same. A root that is no
                                   directory is an error; in the environment or the file,
                                   it is said, and there are none. Also
                                   GPUFL_SOURCE_ROOTS, where an empty value counts, too */
    int pc_sampling_buffer_mib; /**< PcSampling: the most that CUPTI's buffer of samples
                                   takes of each CUDA context, in MiB: 16 to 1024, default
                                   64. It takes less if less than 32 times as much memory
                                   is free, of the GPU or of the host; see
                                   gpufl_profiling_engine. Also
                                   GPUFL_PC_SAMPLING_BUFFER_MIB */
};

/** The environment sets besides, in bytes, milliseconds or text:
 *
 *  - GPUFL_LOG_ROTATE_BYTES: a file is closed and the next one begun at so many (default
 *    64 MiB); GPUFL_LOG_ROTATE_AFTER_MS: or when its first line is so old (default 0:
 *    never).
 *  - GPUFL_LOG_MAX_SPOOL_BYTES: a session's directory takes no more (default 4 GiB);
 *    GPUFL_LOG_MIN_FREE_BYTES: so many stay free on its disk (default 512 MiB); 0: no
 *    limit. What does not fit is dropped and counted.
 *  - GPUFL_SHUTDOWN_TIMEOUT_MS: see gpufl_shutdown (default 2000). GPUFL_MAX_ENGINE: see
 *    gpufl_profiling_engine. GPUFL_DISABLED: see gpufl_is_disabled.
 *  - GPUFL_POD_NAME, GPUFL_POD_NAMESPACE, GPUFL_NODE_NAME: where Kubernetes runs the job,
 *    as its downward API tells it; recorded once a session.
 *  - GPUFL_SYSFS: where the host's /sys lies, with the files of the amdgpu driver and of
 *    control groups, if not at /sys; stderr says if it is no directory.
 *    CUDA_HOME: where libcupti is looked for if the loader does not find it. */

/** Initialiser with all defaults. */
#define GPUFL_INIT_OPTIONS_DEFAULT                                                       \
    {                                                                                    \
        sizeof(struct gpufl_init_options), "gpufl", "", "", "", "", false, false, true,  \
            true, true, false, false, 0, 0, false, GPUFL_BACKEND_AUTO,                   \
            GPUFL_ENGINE_MONITOR, "", false, false, true, 100, 4096, "overview", "",     \
            true, false, 0, false, "", 1024, ".", 64                                     \
    }

/** Fills \p options with the defaults. */
GPUFL_API void gpufl_init_options_default(struct gpufl_init_options *options);

/** How bad it is what a message says. */
enum gpufl_log_level {
    GPUFL_LOG_ERROR = 0,   /**< nothing is recorded, or something is lost */
    GPUFL_LOG_WARNING = 1, /**< a setting is ignored, an engine does not run, … */
    GPUFL_LOG_INFO = 2
};

/** Receives one message as a line without newline, valid until the call returns. */
typedef void (*gpufl_log_fn)(void *arg, enum gpufl_log_level level, const char *line);

/** Passes messages to \p log, with \p arg, which would be written to stderr; NULL: to
 * stderr again, which is the file that descriptor 2 is when the library is loaded, or
 * later in gpufl_init: nothing is written once another file has the number. May be called
 * at any time, by any thread, before gpufl_init, too. \return GPUFL_OK: the function that
 * was set before has ended and is not called any more, and its \p arg may be released,
 * unless this is called within that function; GPUFL_BUSY: it has not returned, see below,
 * and stays set, with its \p arg.
 *
 * \p log is called on threads of gpufl and of the job, one call at a time, and gpufl
 * waits for it: it must return soon, by return, and not by an exception or longjmp(3),
 * which would leave locks taken. It may begin and end scopes and call this function,
 * which then does not wait; other functions of gpufl may wait for the thread that it is
 * on. What gpufl has to say meanwhile on that thread goes to stderr. If a call has not
 * returned for 3 s (1 s more than GPUFL_SHUTDOWN_TIMEOUT_MS), as when it waits for a lock
 * that a thread holds which waits for gpufl, or exits, nobody waits for it any longer:
 * until it returns, messages go to stderr, and this function changes nothing, which is
 * said there. A forked child keeps the function. libgpufl-upload has one of its own, see
 * gpufl_upload_options. */
GPUFL_API gpufl_status gpufl_set_log_callback(gpufl_log_fn log, void *arg);

/** Starts a session: creates `<log_path>/<session id>/` and the writer thread. If a
 * session is running, it is shut down first. \p options may be NULL for the defaults.
 * \return GPUFL_OK; GPUFL_OFF if gpufl is disabled (no file, no thread); GPUFL_ERR_USAGE
 * if a field is out of range; GPUFL_ERR_IO with errno if the directory or the thread
 * cannot be created, ETIMEDOUT if the disk has not returned for as long as gpufl_shutdown
 * waits for it, EBUSY if that disk still has not, or the session before could not be
 * ended (gpufl_shutdown) and still has no end, EAGAIN in a handler of fork() that is
 * older than the library, ECHILD in a child without such handlers; GPUFL_ERR_NOMEM. A
 * message on stderr says why. A missing GPU is not an error, and a driver that takes a
 * while to answer holds up figures of devices alone. The job continues in every case.
 *
 * Until gpufl_shutdown, the process has threads of ours: unshare(2) of the user namespace
 * and setns(2) of a user or mount namespace fail with EINVAL, as in any process with
 * threads. Call them before, or in a forked child. Our threads run on the processors of
 * the thread that calls gpufl_init, with its nice value and policy (SCHED_BATCH,
 * SCHED_IDLE), but if that is SCHED_FIFO or SCHED_RR, with SCHED_OTHER: where real-time
 * threads leave these processors no time, nothing is written, and what finds no room is
 * dropped and counted. Threads that CUPTI makes in gpufl_init have the policy of the
 * thread. With Trace and PcSampling, libraries of the GPU are loaded on the thread that
 * calls gpufl_init, whose stack has to do for that; with Monitor, PTHREAD_STACK_MIN does.
 *
 * No thread may be cancelled asynchronously (PTHREAD_CANCEL_ASYNCHRONOUS) within a
 * function of gpufl: locks that it has would stay taken.
 *
 * From Linux 5.9 on, a thread with a descriptor table of its own (close_range(2)) has the
 * files of the session, and what is read for it: whatever numbers the job closes or
 * takes, no file of its own is written into, and none of ours is lost. In the job's table
 * are two ends of a pipe from 20 on; from 400 on those of amdgpu and PcSampling; the
 * driver's; and for microseconds low ones, within gpufl_init, and once main has left.
 * Before Linux 6.13, up to 64 of the job's are copied where a session or a library is
 * begun, and closed, as by fork(): NFS writes then. Before Linux 5.9, under a filter of
 * system calls (seccomp), as most containers have, if one of those 64 is a message queue,
 * or without a thread, all are in the job's table, and are opened again if the job closes
 * or replaces them. But Linux opens each file under the lowest free number, and closes or
 * writes whatever has a number: for microseconds, the job's next file gets the next one,
 * and one that it puts in the place of ours between our last look and close(2) or
 * write(2) is closed or written into: with Monitor, within gpufl_init, for a full file or
 * a loss, if the job has closed what was open, and once main has left; else at any time.
 * A job that depends on its numbers gets them, and closes what is not its own, before
 * gpufl_init. One that takes a table of its own (CLONE_FILES of unshare(2)) does so
 * before it, too: until gpufl_shutdown, threads of ours keep the former one, and what it
 * closes then open. A session in the job's table stays open in both, and locked. */
GPUFL_API gpufl_status gpufl_init(const struct gpufl_init_options *options);

/** Ends the session: writes the remaining and the closing records and releases the
 * directory. Does nothing without a session. A GPU driver that does not return is left
 * alone after 2 s (GPUFL_SHUTDOWN_TIMEOUT_MS). What the disk or the GPU's library holds
 * up is given up a second later, with a message, and written if they return after all.
 * exit() and the return from main end the session, too, in the same way; handlers of
 * atexit() that the program has registered before its first gpufl_init run after that,
 * and record nothing more: register them later, or call gpufl_init earlier.
 *
 * quick_exit(), _exit() and exec, by which the process becomes another program, end no
 * session, like a signal that kills the process: it has no closing records, and lacks up
 * to 100 ms. Call this function before exec. Where no signal handler calls quick_exit(),
 * which it may, register this function by at_quick_exit().
 *
 * A GPU driver that hangs while its library is loaded has the loader's lock: dlopen() of
 * the program waits for it, and so does exit(), behind all handlers. After 9 s (three
 * times as long as a session has to end) the process ends with its status and flushed
 * streams; destructors of shared objects do not run. Without /proc, exit() waits on.
 *
 * A program that is linked with libgpufl.a has a recorder of its own, which a library
 * with libgpufl.so, or gpufl trace, knows nothing of: each records a session. So has a
 * shared object that is linked with it, which stays loaded after dlclose(). */
GPUFL_API void gpufl_shutdown(void);

/** Copies the id of the running session ("" if there is none) to \p out, NUL-terminated.
 *  \return GPUFL_OK; GPUFL_ERR_NOT_FOUND without a session; GPUFL_ERR_USAGE if \p out is
 *  NULL. */
GPUFL_API gpufl_status gpufl_session_id(char out[40]);

/** Returns true if gpufl is disabled: by GPUFL_DISABLED (1, true, yes or on, in any case)
 * or because the last gpufl_init had enabled = false, by the program or by the
 * configuration file (which GPUFL_DISABLED=0 overrides). libgpufl-upload calls this, too,
 * if both libraries are loaded. */
GPUFL_API bool gpufl_is_disabled(void);

/** Writes everything that has been recorded so far, and returns when it is in the files.
 * Blocks for a few milliseconds, and no longer than 2 s (GPUFL_SHUTDOWN_TIMEOUT_MS) if
 * the disk does not return, which is said. Does nothing without a session. */
GPUFL_API void gpufl_flush(void);

/** Counters of the running session, or of the last one if none is running. */
struct gpufl_stats {
    size_t struct_size;       /**< set by GPUFL_STATS_INIT; counters that it does not hold
                                 whole are not set */
    uint64_t scopes_recorded; /**< begin and end in the files */
    uint64_t scopes_dropped;  /**< dropped because their thread's ring was full */
    uint64_t samples;         /**< of the host and of devices, in the files */
    uint64_t bytes_written;   /**< that are in the files */
    uint64_t bytes_lost;      /**< lines that could not be written, or whose active file
                                 another program has removed, replaced or cut: of sealed
                                 files, which uploaders delete, nothing is noticed */
    uint64_t names_overflowed; /**< uses of "(other)" since the process started */
    uint64_t calls_dropped;  /**< launches, copies and sets that have no scope, stack and
                                  external id because a ring was full */
    uint64_t waits_dropped;  /**< synchronisations, likewise */
    uint64_t phases_dropped; /**< begins and ends of phases, likewise */
    uint64_t scope_ends_dropped; /**< ends by another thread: its ring was full */
    uint64_t scopes_not_ended;   /**< were open when their thread or the session ended,
                                    or when their thread had 4,096 open */
    uint64_t kernel_names_overflowed; /**< kernels whose name is "(other)": more than 8
                                         MiB of names, or 65,536, in this session */
    uint64_t without_memory; /**< scopes, calls, waits and phases of threads for whose
                                  ring there was no memory */
};

#define GPUFL_STATS_INIT                                                                 \
    {                                                                                    \
        sizeof(struct gpufl_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                \
    }

/** Fills \p stats. \return GPUFL_OK; GPUFL_ERR_NOT_FOUND if there was no session;
 * GPUFL_ERR_USAGE if \p stats is NULL, or its struct_size is not set. */
GPUFL_API gpufl_status gpufl_get_stats(struct gpufl_stats *stats);

/** Writes a plain text summary of the last session that ended: its duration, the scopes
 * and kernels with the largest total times, device and host metrics, losses. Scopes are
 * those whose begin and end were written; kernels and metrics are all that were taken,
 * and the report tells how many of them could not be written. Those that were written to
 * a file that another program has removed, replaced or cut since are among them, too, and
 * the report tells how many these are. \p path NULL or "" means
 * standard output. \return GPUFL_OK; GPUFL_ERR_NOT_FOUND if no session has
 * ended; GPUFL_ERR_IO with errno. */
GPUFL_API gpufl_status gpufl_generate_report(const char *path);

/** Starts a phase of system monitoring: if a sampling period is set, samples are taken
 *  until the matching gpufl_system_stop. NULL or "" means "system". */
GPUFL_API void gpufl_system_start(const char *name);

/** Ends a phase. Does nothing if the phase was not started. Phases that are open at the
 *  end of the session count as `phases_not_ended` in its closing record. */
GPUFL_API void gpufl_system_stop(const char *name);

#ifdef __cplusplus
}
#endif

#endif
