/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges that were refused for good, and what a person can do with them: read them, offer
 * them again under the same identity, or give them up. */
#ifndef GPUFL_UPLOAD_RESOLVE_QUARANTINE_H
#define GPUFL_UPLOAD_RESOLVE_QUARANTINE_H

#include <stdbool.h>
#include <stddef.h>

#include <gpufl/status.h>

#include "upload/core/engine_state.h"
#include "upload/http/transport.h"
#include "upload/resolve/quarantine_read.h"

/** Gets a range of the engine's first root, in the order of streams and places.
 * \return false after the last. */
bool quarantine_at(const struct engine *engine, size_t index, struct quarantined *out);

/** Offers a range again and waits for the answer; \p window_headers as the origin
 * declares. A window whose id the origin has with other content is offered a second time.
 * \return GPUFL_OK if the backend has it; GPUFL_PARTIAL if it rejects the lines;
 * GPUFL_ERR_AUTH after a 401; GPUFL_BUSY after another answer that says nothing
 * of the lines; GPUFL_ERR_CONTACT without an answer; \p said holds the answer, or why
 * there is none. */
GPUFL_MUST gpufl_status quarantine_offer(const struct engine *engine,
                                         struct transport *transport,
                                         const struct quarantined *range,
                                         bool window_headers, char said[256]);

/** Removes a range that is \p stored now, or given up, from the list: it blocks its
 * session no longer. \return GPUFL_OK, or GPUFL_ERR_IO if the journal cannot be written.
 */
GPUFL_MUST gpufl_status quarantine_release(struct engine *engine,
                                           const struct quarantined *range, bool stored);

#endif
