/* SPDX-License-Identifier: Apache-2.0 */
/* Storing what was digested of a body. */
#ifndef GPUFL_BACKEND_STORE_STORE_DIGEST_H
#define GPUFL_BACKEND_STORE_STORE_DIGEST_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/digest/digest.h"
#include "backend/store/store.h"

/** Adds \p digest within the transaction of its body. \return false on an error. */
bool store_digest_add(struct store *store, int64_t session, const struct digest *digest);

#endif
