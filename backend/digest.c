/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/digest.h"

#include <stdlib.h>
#include <string.h>

#include "backend/digest_records.h"
#include "backend/metrics.h"
#include "backend/wrap.h"
#include "base/array.h"
#include "schema/columns.h"

#define DEVICES_MAX 64u
/* Every batch begins with it. */
#define BATCH_TIME COLUMN(SCOPE, dt_ns)

/* ---- what is kept ---- */

static struct digest_table *add_table(struct digest *d, enum digest_table_kind kind,
                                      int64_t device)
{
    struct digest_table *table =
        array_grown(d->table, d->tables, &d->table_cap, sizeof *table);
    if (!table) {
        return NULL;
    }
    d->table = table;
    table += d->tables++;
    *table = (struct digest_table){.kind = kind, .device = device};
    return table;
}

static void note_time(struct digest *d, int64_t ts_ns)
{
    d->newest_ns = ts_ns > d->newest_ns ? ts_ns : d->newest_ns;
}

static int64_t row_ns(const struct rows *rows, size_t row, int dt)
{
    int64_t ns = rows_cell(rows, row, dt);
    return wrap_add(rows->base_ns, ns == ROWS_NOTHING ? 0 : ns);
}

static int64_t cell_or(const struct rows *rows, size_t row, int column, int64_t other)
{
    int64_t value = rows_cell(rows, row, column);
    return value == ROWS_NOTHING ? other : value;
}

/* ---- batches that are summed ---- */

/* Which columns make the key, and which are summed; "" = none. */
struct sums {
    enum tally_kind kind;
    const char *a, *b;
    const char *value, *bytes;
};

static bool add_sums(struct digest *d, const struct sums *sums)
{
    const struct rows *rows = &d->rows;
    int dt = rows_column(rows, BATCH_TIME);
    int a = rows_column(rows, sums->a);
    int b = rows_column(rows, sums->b);
    int value = rows_column(rows, sums->value);
    int bytes = rows_column(rows, sums->bytes);
    for (size_t i = 0; i < rows->count; i++) {
        struct tally_key key = {
            .a = cell_or(rows, i, a, 0), .b = cell_or(rows, i, b, 0), .kind = sums->kind};
        if (!tally_add(&d->tallies, &key, cell_or(rows, i, value, 0),
                       cell_or(rows, i, bytes, 0))) {
            return false;
        }
        note_time(d, row_ns(rows, i, dt));
    }
    return true;
}

static bool add_kernels(struct digest *d)
{
    static const struct sums sums = {TALLY_KERNEL, COLUMN(KERNEL, kernel_id), "",
                                     COLUMN(KERNEL, duration_ns), ""};
    static const struct sums launches = {TALLY_LAUNCH, COLUMN(KERNEL, detail_corr_id), "",
                                         COLUMN(KERNEL, duration_ns), ""};
    bool shared = rows_column(&d->rows, launches.a) >= 0;
    return add_sums(d, &sums) && (!shared || add_sums(d, &launches));
}

static bool add_copies(struct digest *d)
{
    static const struct sums sums = {TALLY_COPY, COLUMN(COPY, copy_kind), "",
                                     COLUMN(COPY, duration_ns), COLUMN(COPY, bytes)};
    return add_sums(d, &sums);
}

static bool add_syncs(struct digest *d)
{
    static const struct sums sums = {TALLY_SYNC, COLUMN(WAIT, sync_type), "",
                                     COLUMN(WAIT, duration_ns), ""};
    return add_sums(d, &sums);
}

static bool add_allocations(struct digest *d)
{
    static const struct sums sums = {
        TALLY_MEMORY, COLUMN(ALLOCATION, memory_op), COLUMN(ALLOCATION, memory_kind),
        COLUMN(ALLOCATION, duration_ns), COLUMN(ALLOCATION, bytes)};
    return add_sums(d, &sums);
}

/* Only samples of the program counter: other kinds share the record. */
static bool add_samples(struct digest *d)
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
        struct tally_key key = {cell_or(rows, i, function, 0), cell_or(rows, i, pc, 0),
                                cell_or(rows, i, reason, 0), TALLY_SAMPLE};
        struct tally_key at = {.a = cell_or(rows, i, file, 0),
                               .b = cell_or(rows, i, line, 0),
                               .kind = TALLY_LINE};
        int64_t count = cell_or(rows, i, samples, 0);
        if (cell_or(rows, i, kind, 0) != 0) {
            continue;
        }
        if (!tally_add(&d->tallies, &key, count, 0) ||
            (at.a > 0 && at.b > 0 && !tally_add(&d->tallies, &at, count, 0))) {
            return false;
        }
    }
    return true;
}

/* ---- batches that are packed ---- */

static bool pack_times(struct digest *d, struct digest_table *table, const int64_t *ts_ns,
                       size_t rows)
{
    table->rows = rows;
    table->first_ns = table->last_ns = ts_ns[0];
    for (size_t i = 1; i < rows; i++) {
        table->first_ns = ts_ns[i] < table->first_ns ? ts_ns[i] : table->first_ns;
        table->last_ns = ts_ns[i] > table->last_ns ? ts_ns[i] : table->last_ns;
    }
    d->first_ns =
        !d->first_ns || table->first_ns < d->first_ns ? table->first_ns : d->first_ns;
    d->last_ns = table->last_ns > d->last_ns ? table->last_ns : d->last_ns;
    return pack_column(&table->packed, ts_ns, rows);
}

/* The rows of one device, gathered column by column. */
static bool pack_metrics(struct digest *d, enum digest_table_kind kind, int64_t device,
                         const size_t *row, size_t count, int64_t *scratch)
{
    const struct rows *rows = &d->rows;
    int dt = rows_column(rows, BATCH_TIME);
    struct digest_table *table = add_table(d, kind, device);
    for (size_t i = 0; table && i < count; i++) {
        scratch[i] = row_ns(rows, row[i], dt);
        note_time(d, scratch[i]);
    }
    if (!table || !pack_times(d, table, scratch, count)) {
        return false;
    }
    for (unsigned m = 0; m < metrics_count; m++) {
        int column = metrics[m].host == (kind == TABLE_HOST)
                         ? rows_column(rows, metrics[m].name)
                         : -1;
        for (size_t i = 0; column >= 0 && i < count; i++) {
            scratch[i] = rows_cell(rows, row[i], column);
        }
        if (column >= 0) {
            table->metrics |= UINT64_C(1) << m;
            d->metrics |= table->metrics;
            if (!pack_column(&table->packed, scratch, count)) {
                return false;
            }
        }
    }
    return true;
}

/* One table for each device that is in the batch. */
static bool add_metrics(struct digest *d, enum digest_table_kind kind)
{
    const struct rows *rows = &d->rows;
    int column = kind == TABLE_DEVICE ? rows_column(rows, COLUMN(DEVICE, device_id)) : -1;
    size_t *row = malloc(rows->count * sizeof *row + 1);
    int64_t *scratch = malloc(rows->count * sizeof *scratch + 1);
    char *done = calloc(rows->count + 1, 1);
    bool ok = row && scratch && done;
    size_t most = d->tables + DEVICES_MAX; /* each takes a walk through all rows */
    for (size_t first = 0; ok && first < rows->count && d->tables < most; first++) {
        size_t count = 0;
        int64_t device = cell_or(rows, first, column, DIGEST_HOST);
        for (size_t i = first; !done[first] && i < rows->count; i++) {
            if (!done[i] && cell_or(rows, i, column, DIGEST_HOST) == device) {
                row[count++] = i;
                done[i] = i > first;
            }
        }
        ok = count == 0 || pack_metrics(d, kind, device, row, count, scratch);
    }
    free(row);
    free(scratch);
    free(done);
    return ok;
}

static bool add_device_metrics(struct digest *d)
{
    return add_metrics(d, TABLE_DEVICE);
}

static bool add_host_metrics(struct digest *d)
{
    return add_metrics(d, TABLE_HOST);
}

static bool add_scopes(struct digest *d)
{
    static const char *const column[] = {COLUMN(SCOPE, scope_instance_id),
                                         COLUMN(SCOPE, name_id),
                                         COLUMN(SCOPE, event_type), COLUMN(SCOPE, depth)};
    const struct rows *rows = &d->rows;
    int dt = rows_column(rows, COLUMN(SCOPE, dt_ns));
    int64_t *scratch = rows->count ? malloc(rows->count * sizeof *scratch) : NULL;
    if (!scratch) {
        return rows->count == 0;
    }
    struct digest_table *table = add_table(d, TABLE_SCOPES, DIGEST_HOST);
    for (size_t i = 0; i < rows->count; i++) {
        scratch[i] = row_ns(rows, i, dt);
        note_time(d, scratch[i]);
    }
    bool ok = table && pack_times(d, table, scratch, rows->count);
    for (unsigned c = 0; ok && c < sizeof column / sizeof *column; c++) {
        int at = rows_column(rows, column[c]);
        for (size_t i = 0; i < rows->count; i++) {
            scratch[i] = cell_or(rows, i, at, 0);
        }
        ok = pack_column(&table->packed, scratch, rows->count);
    }
    free(scratch);
    return ok;
}

bool digest_line(struct digest *d, const char *type, const char *line, size_t len)
{
    static const struct {
        const char *type;
        bool (*rows)(struct digest *d);
        bool (*record)(struct digest *d, const char *line, size_t len);
    } takers[] = {
        {RECORD_KERNELS, add_kernels, NULL},
        {RECORD_DEVICE_METRICS, add_device_metrics, NULL},
        {RECORD_HOST_METRICS, add_host_metrics, NULL},
        {RECORD_SCOPES, add_scopes, NULL},
        {RECORD_COPIES, add_copies, NULL},
        {RECORD_WAITS, add_syncs, NULL},
        {RECORD_ALLOCATIONS, add_allocations, NULL},
        {RECORD_SAMPLES, add_samples, NULL},
        {RECORD_DICTIONARY, NULL, digest_names},
        {RECORD_MEMSET, NULL, digest_set},
        {RECORD_KERNEL_DETAIL, NULL, digest_detail},
        {RECORD_SOURCE, NULL, digest_source},
        {RECORD_JOB_START, NULL, digest_start},
        {RECORD_CAPABILITIES, NULL, digest_capabilities},
        {RECORD_SHUTDOWN, NULL, digest_shutdown},
    };
    for (size_t i = 0; i < sizeof takers / sizeof *takers; i++) {
        if (strcmp(type, takers[i].type) != 0) {
            continue;
        }
        if (takers[i].record) {
            return takers[i].record(d, line, len);
        }
        return !rows_read(&d->rows, line, len) || takers[i].rows(d);
    }
    return true;
}

void digest_fini(struct digest *d)
{
    for (size_t i = 0; i < d->names; i++) {
        free(d->name[i].text);
    }
    for (size_t i = 0; i < d->tables; i++) {
        free(d->table[i].packed.data);
    }
    for (unsigned i = 0; i < TEXT_COUNT; i++) {
        free(d->text[i]);
    }
    tally_fini(&d->tallies);
    rows_fini(&d->rows);
    free(d->name);
    free(d->table);
    *d = (struct digest){0};
}
