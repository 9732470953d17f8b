/* SPDX-License-Identifier: Apache-2.0 */
/* Fields that several records share: who recorded, and the frame of a batch. */
#ifndef GPUFL_COLLECTOR_CORE_RECORD_PARTS_H
#define GPUFL_COLLECTOR_CORE_RECORD_PARTS_H

#include <stdint.h>

#include "base/text.h"
#include "collector-lib/core/settings.h"

/** What each record says about its session. */
struct record_context {
    const char *session_id;
    const char *app;
    const char *log_path;
    const struct pod *pod;
    int pid;
    int64_t anchor_ns; /* realtime minus monotonic */
};

/** `"pid":…,"app":…,"session_id":…` */
void record_who(struct text *out, const struct record_context *context);

/** `{"version":…,"type":…,"session_id":…` */
void record_begin(struct text *out, const struct record_context *context, int version,
                  const char *type);

/** `,"batch_id":…,"base_time_ns":…,"columns":…,"rows":[` */
void record_open_rows(struct text *out, const struct record_context *context,
                      uint64_t batch_id, int64_t base_mono_ns, const char *columns);

#endif
