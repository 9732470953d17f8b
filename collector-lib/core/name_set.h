/* SPDX-License-Identifier: Apache-2.0 */
/* A set of ids of names, in the order in which they were added: those that a session
 * uses, that lines use, or that a file has. */
#ifndef GPUFL_COLLECTOR_CORE_NAME_SET_H
#define GPUFL_COLLECTOR_CORE_NAME_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Zero-initialise; release with name_set_fini. */
struct name_set {
    uint32_t *id;
    size_t count, cap;
    uint8_t *bit; /**< one for each id */
    size_t bytes;
};

bool name_set_has(const struct name_set *set, uint32_t id);

/** Without memory, \p id is not added. */
void name_set_add(struct name_set *set, uint32_t id);

/** Removes all. */
void name_set_clear(struct name_set *set);

void name_set_fini(struct name_set *set);

#endif
