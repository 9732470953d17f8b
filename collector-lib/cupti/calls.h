/* SPDX-License-Identifier: Apache-2.0 */
/* Callbacks for the calls of CUDA's driver, on the thread that makes them. */
#ifndef GPUFL_COLLECTOR_CUPTI_CALLS_H
#define GPUFL_COLLECTOR_CUPTI_CALLS_H

#include "collector-lib/cupti/cupti_api.h"
#include "collector-lib/trace/tracer.h"

/** How many calls may be in progress or have a record that is not yet read, by the low
 * bits of their correlation ids. */
#define CALLS_TIMED (1u << 16)

/** How many launches may be waiting for their record, likewise. */
#define CALLS_LAUNCHED (1u << 18)

/** Enables the callbacks for launches, copies and sets, and for waits and allocations
 * if \p config requests them. */
void calls_enable(const struct tracer_config *config, CUpti_SubscriberHandle subscriber);

/** True if CUPTI enabled callbacks for launches. */
bool calls_told(void);

/** Unless it did: why not, a sentence. */
void calls_why_untold(char *why, size_t size);

/** True if there was any call since calls_enable. */
bool calls_heard(void);

/** Launches that the driver has accepted since calls_enable, without those that it
 * captured into a graph. */
uint64_t calls_launched(void);

/** True if \p correlation is a launch, and not the launch of a graph, whose kernels have
 * its id. */
bool calls_is_launch(uint32_t correlation);

/** Handles the callback at the begin or end of a call. */
void calls_on(CUpti_CallbackId id, const CUpti_CallbackData *data);

/** Handles CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED. */
void calls_graph_node_made(void);

/** The duration of the allocation or release \p correlation on its thread; 0 = not
 * known, or not yet. 4.29 s at most. */
uint32_t calls_duration_ns(uint32_t correlation);

#endif
