/* SPDX-License-Identifier: Apache-2.0 */
/* The names of columns as text, for those who read batches, checked by the compiler. */
#ifndef GPUFL_SCHEMA_COLUMN_NAMES_H
#define GPUFL_SCHEMA_COLUMN_NAMES_H

#include "schema/records.h"

/** The name of a column as text; it does not compile unless the batch has that column. */
#define COLUMN(batch, name) (&#name[0 * COLUMN_##batch##_##name])

#define X(name) COLUMN_SCOPE_##name,
enum { RECORD_SCOPE_COLUMNS(X, X) };
#undef X

#define X(name) COLUMN_DEVICE_##name,
enum { RECORD_DETAILED_COLUMNS(X, X) };
#undef X

#define X(name) COLUMN_HOST_##name,
enum { RECORD_HOST_COLUMNS(X, X) };
#undef X

#define X(name) COLUMN_KERNEL_##name,
enum { RECORD_KERNEL_COLUMNS(X, X) };
#undef X

#define X(name) COLUMN_COPY_##name,
enum { RECORD_COPY_COLUMNS(X, X) };
#undef X

#define X(name) COLUMN_SET_##name,
enum { RECORD_SET_COLUMNS(X, X) };
#undef X

#define X(name) COLUMN_WAIT_##name,
enum { RECORD_WAIT_COLUMNS(X, X) };
#undef X

#define X(name) COLUMN_ALLOCATION_##name,
enum { RECORD_ALLOCATION_COLUMNS(X, X) };
#undef X

#define X(name) COLUMN_SAMPLE_##name,
enum { RECORD_SAMPLE_COLUMNS(X, X) };
#undef X

#endif
