/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the scope and stack of the call behind a kernel, copy or set. The job's thread
 * stores them with the correlation id in its ring; the device's record has the same
 * correlation id. */
#ifndef GPUFL_COLLECTOR_TRACE_LAUNCHES_H
#define GPUFL_COLLECTOR_TRACE_LAUNCHES_H

#include "collector-lib/core/names.h"
#include "collector-lib/core/ring.h"

/** The number of calls that are remembered, by the low bits of their ids: a kernel that
 * ends this many calls later does not find its scope, and is counted. */
#define LAUNCHES_SLOTS (1u << 18)

struct launch {
    uint64_t instance; /**< of the scope, 0 = none */
    uint32_t path_id;  /**< of the scope in `paths`, 0 = none */
    uint32_t stack_id; /**< 0 = none */
    uint32_t correlation;
    uint8_t external_kind; /**< of the id that a framework pushed; 0 = none */
    uint16_t replaced;     /**< bit n: it took the place of the call n + 1 rounds ago */
    uint64_t external_id;
};

struct launches {
    struct launch *slot;
    struct names *paths; /* `outer|inner` */
    uint64_t paths_lost; /* scopes whose path was cut, or found no room */
    uint64_t calls_lost; /* that were looked for and are no longer known */
};

/** Longer paths are cut. */
#define LAUNCHES_PATH_BYTES 1023

/** False without memory. Release with launches_fini. */
bool launches_init(struct launches *launches);
void launches_fini(struct launches *launches);

/** The path of a scope \p name in one with the path \p parent, 0 = in none. */
uint32_t launches_path_below(struct launches *launches, uint32_t parent,
                             const char *name);

/** Takes a call that was made in a scope with the path \p path_id, 0 = in none. */
void launches_call(struct launches *launches, const struct row *row, uint32_t path_id);

/** The call \p correlation; zeros if it is not known. */
struct launch launches_find(struct launches *launches, uint32_t correlation);

/** The text of a path; "" for 0. */
const char *launches_path(const struct launches *launches, uint32_t path_id);

#endif
