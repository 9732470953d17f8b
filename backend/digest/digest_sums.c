/* SPDX-License-Identifier: Apache-2.0 */
/* Sums up the rows of kernels, copies, waits, allocations and PC samples. */
#include "backend/digest/digest_sums.h"

#include <stddef.h>

#include "schema/column_names.h"

/* Which columns make the key, and which are summed; "" = none. */
struct sum_columns {
    enum tally_kind kind;
    const char *a, *b;
    const char *value, *bytes;
};

const char *const digest_sums_columns[] = {
    ROWS_TIME,
    COLUMN(KERNEL, kernel_id),
    COLUMN(KERNEL, duration_ns), /* of all of them */
    COLUMN(KERNEL, detail_corr_id),
    COLUMN(COPY, copy_kind),
    COLUMN(COPY, bytes), /* likewise */
    COLUMN(WAIT, sync_type),
    COLUMN(ALLOCATION, memory_op),
    COLUMN(ALLOCATION, memory_kind),
    COLUMN(SAMPLE, sample_kind),
    COLUMN(SAMPLE, function_id),
    COLUMN(SAMPLE, pc_offset),
    COLUMN(SAMPLE, metric_id),
    COLUMN(SAMPLE, metric_value),
    COLUMN(SAMPLE, source_file_id),
    COLUMN(SAMPLE, source_line),
    NULL,
};

static bool add_sums(struct digest *d, const struct sum_columns *sums)
{
    const struct rows *rows = &d->rows;
    int dt = rows_column(rows, ROWS_TIME);
    int a = rows_column(rows, sums->a);
    int b = rows_column(rows, sums->b);
    int value = rows_column(rows, sums->value);
    int bytes = rows_column(rows, sums->bytes);
    for (size_t i = 0; i < rows->count; i++) {
        struct tally_key key = {.a = rows_cell_or(rows, i, a, 0),
                                .b = rows_cell_or(rows, i, b, 0),
                                .kind = sums->kind};
        if (!tally_add(&d->tallies, &key, rows_cell_or(rows, i, value, 0),
                       rows_cell_or(rows, i, bytes, 0))) {
            return false;
        }
        digest_note_time(d, rows_time_ns(rows, i, dt));
    }
    return true;
}

bool digest_kernels(struct digest *d)
{
    static const struct sum_columns sums = {TALLY_KERNEL, COLUMN(KERNEL, kernel_id), "",
                                            COLUMN(KERNEL, duration_ns), ""};
    static const struct sum_columns launches = {TALLY_LAUNCH,
                                                COLUMN(KERNEL, detail_corr_id), "",
                                                COLUMN(KERNEL, duration_ns), ""};
    bool shared = rows_column(&d->rows, launches.a) >= 0;
    return add_sums(d, &sums) && (!shared || add_sums(d, &launches));
}

bool digest_copies(struct digest *d)
{
    static const struct sum_columns sums = {TALLY_COPY, COLUMN(COPY, copy_kind), "",
                                            COLUMN(COPY, duration_ns),
                                            COLUMN(COPY, bytes)};
    return add_sums(d, &sums);
}

bool digest_sets(struct digest *d)
{
    static const struct sum_columns sums = {TALLY_SET, "", "", COLUMN(SET, duration_ns),
                                            COLUMN(SET, bytes)};
    return add_sums(d, &sums);
}

bool digest_waits(struct digest *d)
{
    static const struct sum_columns sums = {TALLY_SYNC, COLUMN(WAIT, sync_type), "",
                                            COLUMN(WAIT, duration_ns), ""};
    return add_sums(d, &sums);
}

bool digest_allocations(struct digest *d)
{
    static const struct sum_columns sums = {
        TALLY_MEMORY, COLUMN(ALLOCATION, memory_op), COLUMN(ALLOCATION, memory_kind),
        COLUMN(ALLOCATION, duration_ns), COLUMN(ALLOCATION, bytes)};
    return add_sums(d, &sums);
}

/* Only samples of the program counter: other kinds share the record. */
bool digest_samples(struct digest *d)
{
    const struct rows *rows = &d->rows;
    int kind = rows_column(rows, COLUMN(SAMPLE, sample_kind));
    int function = rows_column(rows, COLUMN(SAMPLE, function_id));
    int pc = rows_column(rows, COLUMN(SAMPLE, pc_offset));
    int reason = rows_column(rows, COLUMN(SAMPLE, metric_id));
    int samples = rows_column(rows, COLUMN(SAMPLE, metric_value));
    int file = rows_column(rows, COLUMN(SAMPLE, source_file_id));
    int line = rows_column(rows, COLUMN(SAMPLE, source_line));
    for (size_t i = 0; i < rows->count; i++) {
        struct tally_key key = {rows_cell_or(rows, i, function, 0),
                                rows_cell_or(rows, i, pc, 0),
                                rows_cell_or(rows, i, reason, 0), TALLY_SAMPLE};
        struct tally_key at = {.a = rows_cell_or(rows, i, file, 0),
                               .b = rows_cell_or(rows, i, line, 0),
                               .kind = TALLY_LINE};
        int64_t count = rows_cell_or(rows, i, samples, 0);
        if (rows_cell_or(rows, i, kind, 0) != 0) {
            continue;
        }
        if (!tally_add(&d->tallies, &key, count, 0) ||
            (at.a > 0 && at.b > 0 && !tally_add(&d->tallies, &at, count, 0))) {
            return false;
        }
    }
    return true;
}
