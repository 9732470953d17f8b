/* SPDX-License-Identifier: Apache-2.0 */
/* The body of a request while it is received. */
#ifndef GPUFL_BACKEND_HTTP_BODY_H
#define GPUFL_BACKEND_HTTP_BODY_H

#include <stdbool.h>
#include <stddef.h>

#include "backend/http/read_ahead.h"
#include "base/text.h"

/** Zero-initialise. */
struct body {
    struct text bytes;
    bool unwanted;  /**< nobody will look at it: nothing is kept */
    bool too_large; /**< over PROTOCOL_MAX_BODY_BYTES, or out of memory */
    bool answered;  /**< before it came: the connection ends with it */
    struct read_ahead_body ahead;
};

/** Appends \p len bytes; beyond the limit, and where it is unwanted, they are read but
 * not kept. */
void body_take(struct body *body, const char *data, size_t len);

void body_fini(struct body *body);

#endif
