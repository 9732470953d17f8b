/* SPDX-License-Identifier: Apache-2.0 */
/* What tells a sender that the database may be another one, or an older one. */
#ifndef GPUFL_BACKEND_STORE_STORE_EPOCH_H
#define GPUFL_BACKEND_STORE_STORE_EPOCH_H

#include <stdbool.h>

struct store;

/** Draws the epoch of this start. \return false when the database's id can neither be
 * read nor written. */
bool store_epoch_begin(struct store *store);

/** The id of the database and that of this start, "<id>.<start>". */
const char *store_epoch(const struct store *store);

#endif
