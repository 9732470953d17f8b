/* SPDX-License-Identifier: Apache-2.0 */
/* The capture_capabilities record: what was asked for and what was collected. */
#ifndef GPUFL_COLLECTOR_WRITER_CAPABILITIES_H
#define GPUFL_COLLECTOR_WRITER_CAPABILITIES_H

#include "collector-lib/core/record_parts.h"
#include "collector-lib/trace/tracing.h"

/** Appends the record. \p dropped counts scopes that did not fit a ring. */
void record_capabilities(struct text *out, const struct record_context *context,
                         const struct settings *settings, const struct tracing *tracing,
                         const struct losses *losses, int64_t mono_ns);

#endif
