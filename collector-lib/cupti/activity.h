/* SPDX-License-Identifier: Apache-2.0 */
/* Asynchronous activity records: enables, fetches and delivers them. */
#ifndef GPUFL_COLLECTOR_CUPTI_ACTIVITY_H
#define GPUFL_COLLECTOR_CUPTI_ACTIVITY_H

#include "collector-lib/trace/tracer.h"

/** Enables the kinds of \p config. False with a sentence in \p why. */
bool activity_start(const struct tracer_config *config, char *why, size_t size);

/** See struct tracer. */
void activity_collect(bool last);
void activity_deliver(const struct tracer_sink *sink);
void activity_status(struct tracer_status *out);

/** Counts what CUPTI still holds as not fetched: it can be asked no more. */
void activity_collect_nothing(void);

/** Disables them. */
void activity_stop(void);

#endif
