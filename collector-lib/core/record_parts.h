/* SPDX-License-Identifier: Apache-2.0 */
/* What the formats of several records have in common. */
#ifndef GPUFL_COLLECTOR_CORE_RECORD_PARTS_H
#define GPUFL_COLLECTOR_CORE_RECORD_PARTS_H

#include "collector-lib/writer/session_records.h"

/** `"pid":…,"app":…,"session_id":…` */
void record_who(struct text *out, const struct record_context *context);

/** `{"version":…,"type":…,"session_id":…` */
void record_begin(struct text *out, const struct record_context *context, int version,
                  const char *type);

/** `,"batch_id":…,"base_time_ns":…,"columns":…,"rows":[` */
void record_open_rows(struct text *out, const struct record_context *context,
                      uint64_t batch_id, int64_t base_mono_ns, const char *columns);

/** A comma and \p value. */
void record_comma(struct text *out, int64_t value);

#endif
