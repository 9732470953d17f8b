/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the lines of a batch. */
#ifndef GPUFL_BACKEND_DIGEST_LINES_H
#define GPUFL_BACKEND_DIGEST_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/digest/digest.h"
#include "schema/layout.h"

#define LINES_ERRORS_MAX 8u

/** What was found. Release with lines_fini. */
struct lines {
    char *kept; /**< the lines to store, NULL = the input as it is */
    size_t kept_len;
    uint64_t accepted;
    uint64_t rejected;
    struct {
        uint64_t line; /**< from 1 */
        const char *reason;
    } error[LINES_ERRORS_MAX];
    unsigned errors;
    char channel[LAYOUT_CHANNEL_MAX +
                 1]; /**< by record types; "" = none of them has a channel of its own */
    struct digest digest;
};

/** Reads \p len bytes of lines that should belong to \p session. \return false without
 *  memory. */
bool lines_read(const char *raw, size_t len, const char *session, struct lines *out);

void lines_fini(struct lines *lines);

#endif
