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
        bool (*rows)(struct digest *d);
        bool (*record)(struct digest *d, const char *line, size_t len);
    } takers[] = {
        {RECORD_KERNELS, digest_kernels, NULL},
        {RECORD_DEVICE_METRICS, digest_device_metrics, NULL},
        {RECORD_HOST_METRICS, digest_host_metrics, NULL},
        {RECORD_SCOPES, digest_scopes, NULL},
        {RECORD_COPIES, digest_copies, NULL},
        {RECORD_SETS, digest_sets, NULL},
        {RECORD_WAITS, digest_waits, NULL},
        {RECORD_ALLOCATIONS, digest_allocations, NULL},
        {RECORD_SAMPLES, digest_samples, NULL},
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
