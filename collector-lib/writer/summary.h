/* SPDX-License-Identifier: Apache-2.0 */
/* The summary of a session: scopes and kernels by time, figures of devices and host,
 * losses. Used by the writer's thread alone. */
#ifndef GPUFL_COLLECTOR_WRITER_SUMMARY_H
#define GPUFL_COLLECTOR_WRITER_SUMMARY_H

#include <gpufl/status.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "collector-lib/core/name_times.h"
#include "collector-lib/core/names.h"
#include "collector-lib/core/row_counts.h"
#include "collector-lib/core/session_parts.h"
#include "collector-lib/sample/gpu_source.h"
#include "collector-lib/sample/host.h"
#include "collector-lib/trace/tracer.h"
#include "schema/losses.h"

/** Mean and maximum of a figure; values below 0 (not available) are left out. */
struct summary_figure {
    uint64_t count;
    int64_t sum;
    int64_t max;
};

struct summary_device {
    struct summary_figure util_pct, power_mw, temp_c, used_mib;
};

/** Zero-initialise; release with summary_fini. */
struct summary {
    int64_t begin_ns, end_ns;    /* monotonic */
    struct row_counts unwritten; /**< rows in lines that could not be written */
    struct session_amount gone;  /**< that was written, and is in no file any more */
    struct name_times scope, kernel;
    struct summary_figure cpu_pct_x100, ram_mib;
    unsigned devices;
    struct summary_device device[GPU_MAX];
};

/** A scope \p name_id of \p ns was written. */
void summary_scope(struct summary *summary, uint32_t name_id, int64_t ns);
void summary_host(struct summary *summary, const struct host_sample *sample);
void summary_gpu(struct summary *summary, unsigned at, const struct gpu_sample *sample);

/** What a report needs beside the figures. */
struct summary_context {
    const char *app;
    const char *session_id;
    const struct names *names;   /**< of scopes */
    const struct names *kernels; /**< NULL if none were traced */
    const struct gpu_info *info; /**< summary->devices entries */
    const unsigned *id;          /**< likewise: their numbers in the files */
    uint64_t scopes;             /**< in the files */
    struct losses losses;
    uint64_t lost_bytes;
    const struct tracer_status *traced;
};

/** Appends the report as plain text. */
void summary_render(struct summary *summary, const struct summary_context *context,
                    struct text *out);

/** Writes \p report to the file \p path, to standard output if it is NULL or "".
 * \return GPUFL_OK, or GPUFL_ERR_IO with the errno of the first call that failed. */
gpufl_status summary_write(const char *report, const char *path);

void summary_fini(struct summary *summary);

#endif
