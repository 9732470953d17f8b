/* SPDX-License-Identifier: Apache-2.0 */
/* A backend that only counts: what every shipper here sends to, never the bottleneck. */
#ifndef GPUFL_TESTS_BENCH_SINK_H
#define GPUFL_TESTS_BENCH_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** What arrived. */
struct sink_counts {
    uint64_t connections, requests, batches, wire_bytes, raw_bytes, lines;
    uint64_t first_batch_ns; /**< CLOCK_MONOTONIC of its head, 0 = none yet */
    uint64_t last_batch_ns;  /**< of the last one's end */
    float *latency_ms;       /**< from a line's `"t":` to its arrival, with --latency */
    size_t latencies, cap;
};

/** Parses the requests of one connection, however they are cut into reads. */
struct sink_parser {
    char head[16384]; /**< of the request that is being read */
    size_t head_len;
    bool in_body;
    bool is_batch, is_part, is_ends, is_version, is_zstd;
    uint64_t body_len, body_got;
    char *body; /**< whole, with --latency; else its first bytes */
    size_t body_cap;
};

/** Takes \p len bytes; calls \p answer with the text of each reply that is due.
 *  \return false when they are no HTTP that the sink understands. */
bool sink_take(struct sink_parser *parser, struct sink_counts *counts, bool latency,
               const char *data, size_t len, void (*answer)(void *arg, const char *text),
               void *arg);

/** Prints the counts as one line of JSON and starts again from 0. */
void sink_report(struct sink_counts *counts);

#endif
