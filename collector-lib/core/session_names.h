/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the process's names a session uses: only these are in its dictionaries. */
#ifndef GPUFL_COLLECTOR_CORE_SESSION_NAMES_H
#define GPUFL_COLLECTOR_CORE_SESSION_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "collector-lib/core/names.h"

/** Zero-initialise; release with session_names_fini. */
struct session_names {
    uint32_t *id; /**< in the order of their first use */
    size_t count, cap;
    uint8_t used[NAMES_MAX / 8 + 1]; /**< a bit for each id */
};

/** Notes that a row has the name \p id. Without memory it is not noted. */
void session_names_use(struct session_names *names, uint32_t id);

void session_names_fini(struct session_names *names);

#endif
