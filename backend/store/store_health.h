/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the database takes what is written, and why not. */
#ifndef GPUFL_BACKEND_STORE_STORE_HEALTH_H
#define GPUFL_BACKEND_STORE_STORE_HEALTH_H

#include <stdbool.h>
#include <stddef.h>

#include "backend/store/store.h"

/** A write of \p bytes has failed: to be called before anything else, while SQLite's
 * error and errno stand. */
void store_health_failed(struct store *store, size_t bytes);

/** A write of \p bytes has succeeded. A smaller one than what failed proves nothing. */
void store_health_wrote(struct store *store, size_t bytes);

/** Looks where the files of the database are: to be called before a write is made, and
 * before it is acknowledged. \return false while one is not where it was opened. */
bool store_health_look(struct store *store);

/** Why the last write failed, in words, until one succeeds, or which file is gone; NULL =
 * all is well. */
const char *store_health_why(const struct store *store);

/** True when the reason is a full disk, quota or file size limit. */
bool store_health_is_full(const struct store *store);

/** True when the reason is a file that was removed or replaced. */
bool store_health_is_away(const struct store *store);

/** As store_health_why(), after looking and, at most once a second, trying again. */
const char *store_health_ask(struct store *store);

#endif
