/* SPDX-License-Identifier: Apache-2.0 */
/* Passes a record to the digest function for its type. */
#include "backend/digest/digest_line.h"

#include <string.h>

#include "backend/digest/digest_records.h"
#include "backend/digest/digest_sums.h"
#include "backend/digest/digest_tables.h"
#include "schema/records.h"

bool digest_line(struct digest *d, const char *type, const char *line, size_t len)
{
    static const struct {
        const char *type;
        const char *const *columns; /* of rows; NULL = all */
        bool (*rows)(struct digest *d);
        bool (*record)(struct digest *d, const char *line, size_t len);
    } takers[] = {
        {RECORD_KERNELS, digest_sums_columns, digest_kernels, NULL},
        {RECORD_DEVICE_METRICS, NULL, digest_device_metrics, NULL},
        {RECORD_HOST_METRICS, NULL, digest_host_metrics, NULL},
        {RECORD_SCOPES, NULL, digest_scopes, NULL},
        {RECORD_COPIES, digest_sums_columns, digest_copies, NULL},
        {RECORD_SETS, digest_sums_columns, digest_sets, NULL},
        {RECORD_WAITS, digest_sums_columns, digest_waits, NULL},
        {RECORD_ALLOCATIONS, digest_sums_columns, digest_allocations, NULL},
        {RECORD_SAMPLES, digest_sums_columns, digest_samples, NULL},
        {RECORD_DICTIONARY, NULL, NULL, digest_names},
        {RECORD_MEMSET, NULL, NULL, digest_set},
        {RECORD_KERNEL_DETAIL, NULL, NULL, digest_detail},
        {RECORD_SOURCE, NULL, NULL, digest_source},
        {RECORD_JOB_START, NULL, NULL, digest_start},
        {RECORD_CAPABILITIES, NULL, NULL, digest_capabilities},
        {RECORD_SHUTDOWN, NULL, NULL, digest_shutdown},
    };
    for (size_t i = 0; i < sizeof takers / sizeof *takers; i++) {
        if (strcmp(type, takers[i].type) != 0) {
            continue;
        }
        if (takers[i].record) {
            return takers[i].record(d, line, len);
        }
        d->rows.wanted = takers[i].columns;
        return !rows_read(&d->rows, line, len) || takers[i].rows(d);
    }
    return true;
}
