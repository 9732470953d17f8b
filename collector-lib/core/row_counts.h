/* SPDX-License-Identifier: Apache-2.0 */
/* How many rows of each kind are in lines. */
#ifndef GPUFL_COLLECTOR_CORE_ROW_COUNTS_H
#define GPUFL_COLLECTOR_CORE_ROW_COUNTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "schema/records.h"

/** X(kind, type of the record, what a row of it is for people). */
#define ROW_KINDS(X)                                                                     \
    X(ROWS_SCOPES, RECORD_SCOPES, "begins and ends of scopes")                           \
    X(ROWS_KERNELS, RECORD_KERNELS, "kernels")                                           \
    X(ROWS_COPIES, RECORD_COPIES, "copies")                                              \
    X(ROWS_SETS, RECORD_SETS, "sets")                                                    \
    X(ROWS_WAITS, RECORD_WAITS, "synchronisations")                                      \
    X(ROWS_ALLOCATIONS, RECORD_ALLOCATIONS, "allocations")                               \
    X(ROWS_PC_SAMPLES, RECORD_SAMPLES, "rows of PC samples")                             \
    X(ROWS_DEVICES, RECORD_DEVICE_METRICS, "samples of devices")                         \
    X(ROWS_HOST, RECORD_HOST_METRICS, "samples of the host")

#define ROW_KIND_(kind, type, text) kind,
enum row_count { ROW_KINDS(ROW_KIND_) ROW_KIND_COUNT };
#undef ROW_KIND_

struct row_counts {
    uint64_t count[ROW_KIND_COUNT];
};

/** Adds the rows in \p len bytes of whole lines. */
void row_counts_add(struct row_counts *counts, const char *lines, size_t len);

/** \return samples of the host and of devices. */
uint64_t row_counts_samples(const struct row_counts *counts);

/** Adds \p more to \p to. */
void row_counts_join(struct row_counts *to, const struct row_counts *more);

/** Subtracts \p part from \p from, and never more than there is. */
void row_counts_subtract(struct row_counts *from, const struct row_counts *part);

/** \return how many scopes end in a line of \p len bytes. */
uint64_t row_counts_scope_ends(const char *line, size_t len);

/** Appends what is not 0, by commas. */
void row_counts_text(const struct row_counts *counts, struct text *out);

#endif
