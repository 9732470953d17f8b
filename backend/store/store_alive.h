/* SPDX-License-Identifier: Apache-2.0 */
/* What senders tell of sessions that are silent although their writer lives. */
#ifndef GPUFL_BACKEND_STORE_STORE_ALIVE_H
#define GPUFL_BACKEND_STORE_STORE_ALIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/store/store.h"
#include "schema/layout.h"

/** One session whose writer lives. */
struct store_alive {
    char session[LAYOUT_NAME_MAX + 1];
    int64_t silent_ms; /**< since its writer wrote last */
    bool known;        /**< set by store_alive_put: there is such a session */
};

/** Notes \p count sessions in one transaction. Those that are not known are left out, and
 * nothing but this is noted of the others: neither lines nor ends. */
GPUFL_MUST gpufl_status store_alive_put(struct store *store, struct store_alive *alive,
                                        size_t count);

#endif
