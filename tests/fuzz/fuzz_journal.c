/* SPDX-License-Identifier: Apache-2.0 */
/* A journal file of any bytes: every record that is replayed is read as every fact. */
#include <stddef.h>
#include <stdint.h>

#include "upload/facts.h"
#include "upload/journal_format.h"

static void read_all(void *arg, const struct journal_record *record)
{
    union {
        struct fact_stream stream;
        struct fact_offer offer;
        struct fact_settled settled;
        struct fact_quarantine quarantine;
        struct fact_session session;
    } out;
    (void)arg;
    (void)fact_read_stream(record, &out.stream);
    (void)fact_read_offer(record, &out.offer);
    (void)fact_read_settled(record, &out.settled);
    (void)fact_read_quarantine(record, &out.quarantine);
    (void)fact_read_session(record, &out.session);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t end;
    uint64_t last;
    bool damaged;
    struct journal_record record = {.payload = data, .len = size};
    read_all(NULL, &record);
    if (journal_parse(data, size, read_all, NULL, &end, &last, &damaged) != GPUFL_OK) {
        return 0;
    }
    if (end > size) {
        __builtin_trap();
    }
    return 0;
}
