/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers the devices of a tracer by their UUIDs. */
#include "collector-lib/trace/trace_devices.h"

#include <stdio.h>

static void learn_device(const struct trace_devices *devices,
                         struct trace_device_known *known)
{
    devices->describe(known->ordinal, &known->about);
    if (!known->about.uuid[0]) { /* it can be no other device that is known */
        snprintf(known->about.uuid, sizeof known->about.uuid, "CUDA-%u",
                 (unsigned)known->ordinal);
    }
    known->id = device_table_id(devices->table, known->about.uuid);
}

struct trace_device_known *trace_devices_find(struct trace_devices *devices,
                                              uint32_t ordinal)
{
    for (unsigned i = 0; i < devices->count; i++) {
        if (devices->known[i].ordinal == ordinal) {
            return &devices->known[i];
        }
    }
    if (devices->count == TRACE_DEVICES_MAX) {
        return NULL;
    }
    struct trace_device_known *known = &devices->known[devices->count++];
    *known = (struct trace_device_known){.ordinal = ordinal};
    learn_device(devices, known);
    return known;
}

void trace_devices_rewind(struct trace_devices *devices)
{
    for (unsigned i = 0; i < devices->count; i++) {
        devices->known[i].written = false;
    }
}
