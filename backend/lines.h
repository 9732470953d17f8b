/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the lines of a batch and picks out what the session list and the charts show. */
#ifndef GPUFL_BACKEND_LINES_H
#define GPUFL_BACKEND_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/layout.h"

#define LINES_ERRORS_MAX 8u

/** One sample for the charts. device -1 = the host (value: CPU % × 100). */
struct lines_sample {
    int64_t ts_ns;
    int32_t device;
    int32_t value;
};

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
    char
        channel[LAYOUT_CHANNEL_MAX + 1]; /**< by record types; "" = only records of all */
    char app[256];
    char hostname[256];
    char kind[32];
    char gpus[512];      /**< names of job_start's devices, joined by ", " */
    int64_t start_ns;    /**< of job_start, 0 = none here */
    int64_t shutdown_ns; /**< of shutdown, 0 = none here */
    struct lines_sample *sample;
    size_t samples;
    size_t sample_cap;
};

/** Reads \p len bytes of lines that should belong to \p session. \return false without
 *  memory. */
bool lines_read(const char *raw, size_t len, const char *session, struct lines *out);

void lines_fini(struct lines *lines);

#endif
