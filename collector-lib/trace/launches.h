/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the scope and stack of the call behind a kernel, copy or set. The job's thread
 * stores them with the correlation id in its ring; the device's record has the same
 * correlation id. */
#ifndef GPUFL_COLLECTOR_TRACE_LAUNCHES_H
#define GPUFL_COLLECTOR_TRACE_LAUNCHES_H

#include "collector-lib/core/names.h"
#include "collector-lib/core/ring.h"

/** The number of calls that are remembered, by the low bits of their ids: a kernel that
 * ends this many calls later still finds its scope. */
#define LAUNCHES_SLOTS (1u << 18)
#define LAUNCHES_DEPTH 64u

struct launch {
    uint64_t instance; /**< of the scope, 0 = none */
    uint32_t path_id;  /**< of the scope in `paths`, 0 = none */
    uint32_t stack_id; /**< 0 = none */
    uint32_t correlation;
    uint16_t depth;        /**< of scopes */
    uint8_t external_kind; /**< of the id that a framework pushed; 0 = none */
    uint64_t external_id;
};

struct launches {
    struct launches_ring *ring; /* by ring id */
    size_t rings;
    struct launch *slot;
    struct names *paths; /* `outer|inner` */
};

/** False without memory. Release with launches_fini. */
bool launches_init(struct launches *launches);
void launches_fini(struct launches *launches);

/** Takes scopes and calls, in the order of their thread. */
void launches_row(struct launches *launches, const struct row *row,
                  const struct names *names);

/** The call \p correlation; zeros if it is not known. */
struct launch launches_find(const struct launches *launches, uint32_t correlation);

/** The text of a path; "" for 0. */
const char *launches_path(const struct launches *launches, uint32_t path_id);

#endif
