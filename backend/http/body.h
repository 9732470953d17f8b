/* SPDX-License-Identifier: Apache-2.0 */
/* A request's body while it comes in. */
#ifndef GPUFL_BACKEND_HTTP_BODY_H
#define GPUFL_BACKEND_HTTP_BODY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

/** Zero-initialise. */
struct body {
    struct text bytes;
    bool too_large; /**< more than PROTOCOL_MAX_BODY_BYTES came, or memory ended */
};

/** Appends \p len bytes; beyond the limit they are read but not kept. */
void body_take(struct body *body, const char *data, size_t len);

void body_fini(struct body *body);

#endif
