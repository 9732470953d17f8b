/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the Prometheus text format,
 * https://prometheus.io/docs/instrumenting/exposition_formats/. Names are given without
 * the prefix gpufl_agent_. */
#ifndef GPUFL_AGENT_METRICS_FORMAT_H
#define GPUFL_AGENT_METRICS_FORMAT_H

#include <stdint.h>

#include "base/text.h"

/** One line, as printf, with a newline. */
__attribute__((format(printf, 2, 3))) void metrics_line(struct text *out,
                                                        const char *format, ...);

/** The HELP and TYPE lines of a metric. */
void metrics_about(struct text *out, const char *name, const char *type,
                   const char *help);

/** A metric without labels. */
void metrics_counter(struct text *out, const char *name, uint64_t value,
                     const char *help);
void metrics_gauge(struct text *out, const char *name, double value, const char *help);

#endif
