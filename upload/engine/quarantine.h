/* SPDX-License-Identifier: Apache-2.0 */
/* What was refused for good, and what a person may do with it: look at it, offer it again
 * under the same identity, or give it up. */
#ifndef GPUFL_UPLOAD_ENGINE_QUARANTINE_H
#define GPUFL_UPLOAD_ENGINE_QUARANTINE_H

#include <stdbool.h>
#include <stddef.h>

#include <gpufl/status.h>

#include "upload/engine/engine.h"
#include "upload/engine/quarantine_read.h"
#include "upload/http/transport.h"

/** The ranges of the engine's first root, in the order in which they were refused.
 * \return false behind the last. */
bool quarantine_at(const struct engine *engine, size_t index, struct quarantined *out);

/** Offers it again and waits for the answer. \p window_headers as the origin declares.
 *  \return GPUFL_OK: the backend has it; else \p said holds what it answered. */
GPUFL_MUST gpufl_status quarantine_offer(const struct engine *engine,
                                         struct transport *transport,
                                         const struct quarantined *range,
                                         bool window_headers, char said[256]);

/** It is \p stored now, or given up: it leaves the list, its session is not blocked by it
 * any more. \return GPUFL_OK, or GPUFL_ERR_IO when the journal does not take it. */
GPUFL_MUST gpufl_status quarantine_release(struct engine *engine,
                                           const struct quarantined *range, bool stored);

#endif
