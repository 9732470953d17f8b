/* SPDX-License-Identifier: Apache-2.0 */
/* Writes names, types and values. */
#include "agent/metrics_format.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define METRICS_LINE_MAX 512

void metrics_line(struct text *out, const char *format, ...)
{
    char line[METRICS_LINE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    text_puts(out, line);
    text_puts(out, "\n");
}

void metrics_about(struct text *out, const char *name, const char *type, const char *help)
{
    metrics_line(out, "# HELP gpufl_agent_%s %s", name, help);
    metrics_line(out, "# TYPE gpufl_agent_%s %s", name, type);
}

void metrics_counter(struct text *out, const char *name, uint64_t value, const char *help)
{
    metrics_about(out, name, "counter", help);
    metrics_line(out, "gpufl_agent_%s %" PRIu64, name, value);
}

void metrics_gauge(struct text *out, const char *name, double value, const char *help)
{
    metrics_about(out, name, "gauge", help);
    metrics_line(out, "gpufl_agent_%s %.15g", name, value);
}
