/* SPDX-License-Identifier: Apache-2.0 */
/* The devices that records of a tracer name: their numbers in the table of the session,
 * and what does not change. */
#ifndef GPUFL_COLLECTOR_TRACE_TRACE_DEVICES_H
#define GPUFL_COLLECTOR_TRACE_TRACE_DEVICES_H

#include "collector-lib/core/device_table.h"
#include "collector-lib/trace/tracer.h"

#define TRACE_DEVICES_MAX 64u

struct trace_device_known {
    uint32_t ordinal; /**< the tracer's number */
    unsigned id;      /**< the session's */
    bool written;     /**< its record is */
    struct trace_device about;
};

/** Zero-initialise, then set the first two. */
struct trace_devices {
    struct device_table *table;
    void (*describe)(uint32_t number, struct trace_device *out); /**< of the tracer */
    struct trace_device_known known[TRACE_DEVICES_MAX];
    unsigned count;
};

/** The device that the tracer calls \p ordinal; asks the tracer if it is new. NULL if
 * there are too many. */
struct trace_device_known *trace_devices_find(struct trace_devices *devices,
                                              uint32_t ordinal);

/** Readers may lack their records. */
void trace_devices_rewind(struct trace_devices *devices);

#endif
