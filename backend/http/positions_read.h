/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what senders say of positions: lists of parts, and claims. */
#ifndef GPUFL_BACKEND_HTTP_POSITIONS_READ_H
#define GPUFL_BACKEND_HTTP_POSITIONS_READ_H

#include <stdbool.h>
#include <stddef.h>

#include "backend/store/store_completion.h"
#include "backend/store/store_streams.h"

/** The parts of a request. Release with positions_parts_fini. */
struct positions_parts {
    struct stream_part *part;
    size_t count;
};

/** Reads the line that lists the parts. \return NULL, or why it is not one. */
const char *positions_read_parts(const char *line, size_t len,
                                 struct positions_parts *out);

/** Gives each part its bytes of \p raw, which holds those of all parts in their order.
 * \return false when the places and the lengths do not fit each other. */
bool positions_give_bytes(struct positions_parts *parts, const char *raw, size_t len);

/** True when the bytes of \p part run its begin into its end. */
bool positions_fit(const struct stream_part *part);

void positions_parts_fini(struct positions_parts *parts);

/** Reads a claim; claim->channel is malloc'd, the caller's. Without a body, or of an
 * object without channels, it claims nothing: this request had no body before. \return
 * NULL, or why it is none. */
const char *positions_read_claim(const char *body, size_t len, struct store_claim *out);

#endif
