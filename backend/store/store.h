/* SPDX-License-Identifier: Apache-2.0 */
/* Everything stored, in one SQLite file. A call returns after its commit is on disk;
 * calls of one store are made by one thread. */
#ifndef GPUFL_BACKEND_STORE_STORE_H
#define GPUFL_BACKEND_STORE_STORE_H

#include <gpufl/status.h>

struct store;

/** Opens \p path, or creates it. On failure \p why says why, in one line. */
GPUFL_MUST gpufl_status store_open(const char *path, struct store **out, char why[256]);
void store_close(struct store *store);

#endif
