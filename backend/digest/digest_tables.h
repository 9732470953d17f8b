/* SPDX-License-Identifier: Apache-2.0 */
/* Batches that are kept row by row: metrics and scopes. */
#ifndef GPUFL_BACKEND_DIGEST_DIGEST_TABLES_H
#define GPUFL_BACKEND_DIGEST_DIGEST_TABLES_H

#include "backend/digest/digest.h"

/* Each digests the batch in digest->rows. \return false without memory. */
bool digest_device_metrics(struct digest *digest);
bool digest_host_metrics(struct digest *digest);
bool digest_scopes(struct digest *digest);

#endif
