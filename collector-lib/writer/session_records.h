/* SPDX-License-Identifier: Apache-2.0 */
/* Formats each record that the collector writes, as schema/README.md lists them. */
#ifndef GPUFL_COLLECTOR_WRITER_SESSION_RECORDS_H
#define GPUFL_COLLECTOR_WRITER_SESSION_RECORDS_H

#include "base/text.h"
#include "collector-lib/core/names.h"
#include "collector-lib/core/ring.h"
#include "collector-lib/core/settings.h"
#include "collector-lib/sample/gpu_source.h"
#include "collector-lib/sample/host.h"

/** What every record of a session says about it. */
struct record_context {
    const char *session_id;
    const char *app;
    const char *log_path;
    const struct pod *pod;
    int pid;
    int64_t anchor_ns; /* realtime minus monotonic */
};

/** The devices and the host at one moment. */
struct record_state {
    const struct host *host;
    struct host_sample host_sample;
    unsigned gpus;
    const struct gpu_info *info;
    const struct gpu_sample *sample;
};

void record_job_start(struct text *out, const struct record_context *context,
                      const struct record_state *state,
                      enum gpufl_profiling_engine engine, int64_t mono_ns);
void record_shutdown(struct text *out, const struct record_context *context,
                     int64_t mono_ns);

/** system_start (\p start) or system_stop, named \p name. */
void record_system_mark(struct text *out, const struct record_context *context,
                        const struct record_state *state, bool start, const char *name,
                        int64_t mono_ns);

/** Texts with ids in (`from`, `to`] of one dictionary. */
struct dictionary_part {
    const char *key;         /**< `kernel_dict`… */
    const char *const *text; /**< by id */
    uint32_t from, to;
};

/** One line of the parts that hold something, in their order; nothing when none does. */
void record_dictionary(struct text *out, const struct record_context *context,
                       const struct dictionary_part *part, size_t parts);

/** The scope rows among \p rows, at most RECORD_MAX_ROWS a batch; \p batch_id counts on.
 */
void record_scopes(struct text *out, const struct record_context *context,
                   const struct row_list *rows, uint64_t *batch_id);

/** One sample taken at \p mono_ns. */
struct metric_row {
    int64_t mono_ns;
    unsigned device; /* unused by host rows, as is parent */
    int parent;
    struct gpu_sample gpu;
    struct host_sample host;
};

void record_device_metrics(struct text *out, const struct record_context *context,
                           const struct metric_row *rows, size_t count, uint64_t batch_id,
                           bool details);
void record_host_metrics(struct text *out, const struct record_context *context,
                         const struct host *host, const struct metric_row *rows,
                         size_t count, uint64_t batch_id);

struct tracing;

/** What was asked for and what was collected; \p dropped pairs did not fit a ring. */
void record_capabilities(struct text *out, const struct record_context *context,
                         const struct settings *settings, const struct tracing *tracing,
                         uint64_t dropped, int64_t mono_ns);

#endif
