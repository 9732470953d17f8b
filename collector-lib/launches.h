/* SPDX-License-Identifier: Apache-2.0 */
/* Which scope a kernel was launched in: the job's thread notes correlation id and scope
 * in its ring, the device's record of the kernel carries the same id. */
#ifndef GPUFL_COLLECTOR_LAUNCHES_H
#define GPUFL_COLLECTOR_LAUNCHES_H

#include "collector-lib/names.h"
#include "collector-lib/ring.h"

/** Launches that are remembered, by the low bits of their ids: a kernel may end this many
 * launches later and still find its scope. */
#define LAUNCHES_SLOTS (1u << 18)
#define LAUNCHES_DEPTH 64u

struct launch_scope {
    uint64_t instance; /**< 0 = none */
    uint32_t path_id;  /**< in `paths`, 0 = none */
};

struct launches {
    struct launches_ring *ring; /* by ring id */
    size_t rings;
    struct launches_slot *slot;
    struct names *paths; /* `outer|inner` */
};

/** False without memory. Release with launches_fini. */
bool launches_init(struct launches *launches);
void launches_fini(struct launches *launches);

/** Follows scopes and launches, in the order of their thread. */
void launches_row(struct launches *launches, const struct row *row,
                  const struct names *names);

/** The scope of the launch \p correlation. */
struct launch_scope launches_find(const struct launches *launches, uint32_t correlation);

/** The text of a path; "" for 0. */
const char *launches_path(const struct launches *launches, uint32_t path_id);

#endif
