/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of which only sums are kept. */
#ifndef GPUFL_BACKEND_DIGEST_DIGEST_SUMS_H
#define GPUFL_BACKEND_DIGEST_DIGEST_SUMS_H

#include "backend/digest/digest.h"

/** The columns of which they read, up to a NULL. */
extern const char *const digest_sums_columns[];

/* Each digests the batch in digest->rows. \return false without memory. */
bool digest_kernels(struct digest *digest);
bool digest_copies(struct digest *digest);
bool digest_sets(struct digest *digest);
bool digest_waits(struct digest *digest);
bool digest_allocations(struct digest *digest);
bool digest_samples(struct digest *digest);

#endif
