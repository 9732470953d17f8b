/* SPDX-License-Identifier: Apache-2.0 */
/* Publishes what a crashed 1.3 writer left in `.tmp`: compressed, with a sidecar, under
 * the names that the writer itself would have used. Every other tool of the directory
 * protocol then reads it like any other window. */
#ifndef GPUFL_UPLOAD_SOURCE_SALVAGE_H
#define GPUFL_UPLOAD_SOURCE_SALVAGE_H

#include "upload/source/salvage_window.h"

/** Does one step under the session's lock, in which it reads no more than the budget.
 * Each step is on disk before the next depends
 * on it, so a crash between any two loses nothing and publishes nothing twice. Deletes
 * only what exists elsewhere or is empty. */
enum salvage_result salvage_step(const struct salvage_place *place);

#endif
