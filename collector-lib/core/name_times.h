/* SPDX-License-Identifier: Apache-2.0 */
/* Durations added up by name. */
#ifndef GPUFL_COLLECTOR_CORE_NAME_TIMES_H
#define GPUFL_COLLECTOR_CORE_NAME_TIMES_H

#include <stddef.h>
#include <stdint.h>

/** Times of one name. */
struct name_time {
    uint32_t name_id;
    uint64_t count; /**< 0 = nothing was added */
    int64_t total_ns, min_ns, max_ns;
};

/** Zero-initialise; release with name_times_fini. */
struct name_times {
    struct name_time *at; /**< by name id, until name_times_sort */
    size_t count;
};

/** Adds \p ns to the name \p name_id. Without memory a new name is left out. */
void name_times_add(struct name_times *times, uint32_t name_id, int64_t ns);

/** Puts the longest total first; nothing can be added afterwards. \return how many names
 * have times. */
size_t name_times_sort(struct name_times *times);

void name_times_fini(struct name_times *times);

#endif
