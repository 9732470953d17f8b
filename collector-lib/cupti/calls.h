/* SPDX-License-Identifier: Apache-2.0 */
/* Callbacks for the calls of CUDA's driver, on the thread that makes them. */
#ifndef GPUFL_COLLECTOR_CUPTI_CALLS_H
#define GPUFL_COLLECTOR_CUPTI_CALLS_H

#include "collector-lib/cupti/cupti_api.h"
#include "collector-lib/trace/tracer.h"

/** Calls that are in flight or whose record is not yet read, by the low bits of their
 * correlation ids. */
#define CALLS_TIMED (1u << 16)

/** Switches the callbacks on: launches, copies and sets always, waits and allocations
 * where \p config asks for them. */
void calls_enable(const struct tracer_config *config, CUpti_SubscriberHandle subscriber);

/** Whether there are callbacks for launches at all. */
bool calls_told(void);

/** Whether there was any call since calls_enable. */
bool calls_heard(void);

/** Launches that the driver has accepted since calls_enable. */
uint64_t calls_launched(void);

/** A call begins or ends. */
void calls_on(CUpti_CallbackId id, const CUpti_CallbackData *data);

/** How long the allocation or release \p correlation held its thread; 0 = not known, or
 * not yet. Saturates at 4.29 s. */
uint32_t calls_duration_ns(uint32_t correlation);

#endif
