/* SPDX-License-Identifier: Apache-2.0 */
/* The writer's side of a tracer: decides when its records are fetched, and counts them.
 * */
#ifndef GPUFL_COLLECTOR_TRACE_TRACING_H
#define GPUFL_COLLECTOR_TRACE_TRACING_H

#include "collector-lib/trace/profiler.h"
#include "collector-lib/trace/trace_log.h"

/** How often records are fetched. A fetch takes our thread 0.3 to 0.9 ms and does not
 * delay launches: with one every 2 ms they took as long as without (H200). */
#define TRACING_BEAT_MS 50

/** If it is zero, nothing is traced and each function returns at once. */
struct tracing {
    struct profiler profiler;
    struct trace_log log;
    struct tracer_status status;
    int64_t next_ns; /* monotonic */
    bool fetched;    /* records wait to be delivered */
    bool said;       /* it was reported why there are no samples */
};

/** Takes over \p profiler. Devices get their numbers in \p devices. Texts of source files
 * are taken from below \p source, NULL = none are wanted. */
void tracing_open(struct tracing *tracing, const struct profiler *profiler,
                  const struct record_context *context, struct name_times *kernel_times,
                  struct device_table *devices, const struct source_roots *source);

/** Fetches the records that are complete, if it is time or \p now_or_never; with \p
 * last, all. \return true if it has; then what the rings hold now must be drained before
 * it is delivered: a launch's row is in its ring before its kernel can end. */
bool tracing_fetch(struct tracing *tracing, int64_t now_ns, bool now_or_never, bool last);

/** The path of a scope \p name in one with the path \p parent, 0 = in none; 0 if
 * nothing is traced. */
uint32_t tracing_path(struct tracing *tracing, uint32_t parent, const char *name);

/** Takes a row that was drained; \p path_id is that of its scope. */
void tracing_row(struct tracing *tracing, const struct row *row, uint32_t path_id);

/** Turns what was fetched into lines of tracing->log. \return false if there is nothing
 * to write. */
bool tracing_deliver(struct tracing *tracing);

/** Calls the tracer no more: its library has ended. */
void tracing_abandon(struct tracing *tracing);

/** Stops the profiler; reports on stderr when it recorded nothing. */
void tracing_close(struct tracing *tracing);

#endif
