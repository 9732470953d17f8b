/* SPDX-License-Identifier: Apache-2.0 */
/* A record of any bytes and type: digested, and what is packed can be unpacked. Rows are
 * read alike by words and by bytes. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "backend/digest/digest_line.h"
#include "tests/support/spaced_rows.h"

static const char *const types[] = {
    "kernel_event_batch",  "device_metric_batch",  "host_metric_batch",
    "scope_event_batch",   "profile_sample_batch", "memcpy_event_batch",
    "memset_event",        "memset_event_batch",   "memory_alloc_event_batch",
    "dictionary_update",   "source_file_content",  "job_start",
    "capture_capabilities"};

static void check(const struct digest_table *table)
{
    int64_t *value = malloc(table->rows * sizeof *value);
    if (table->rows == 0 || !value ||
        !pack_read_column(&table->packed, table->rows, 0, value)) {
        __builtin_trap();
    }
    for (size_t i = 0; i < table->rows; i++) {
        if (value[i] < table->first_ns || value[i] > table->last_ns) {
            __builtin_trap();
        }
    }
    free(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct digest digest = {0};
    if (size == 0) {
        return 0;
    }
    const char *type = types[data[0] % (sizeof types / sizeof *types)];
    if (digest_line(&digest, type, (const char *)data + 1, size - 1)) {
        for (size_t i = 0; i < digest.tables; i++) {
            check(&digest.table[i]);
        }
    }
    digest_fini(&digest);
    struct spaced_rows both = spaced_rows_of((const char *)data + 1, size - 1);
    if (!spaced_rows_agree(&both)) {
        __builtin_trap();
    }
    spaced_rows_fini(&both);
    return 0;
}
