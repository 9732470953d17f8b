/* SPDX-License-Identifier: Apache-2.0 */
/* A journal file of any bytes: every record that is replayed is read as every record. */
#include <stddef.h>
#include <stdint.h>

#include "upload/journal/journal_format.h"
#include "upload/journal/journal_records.h"

static void read_all(void *arg, const struct journal_record *record)
{
    union {
        struct record_stream stream;
        struct record_offer offer;
        struct record_attempt attempt;
        struct record_settled settled;
        struct record_quarantine quarantine;
        struct record_session session;
    } out;
    (void)arg;
    (void)record_parse_stream(record, &out.stream);
    (void)record_parse_offer(record, &out.offer);
    (void)record_parse_attempt(record, &out.attempt);
    (void)record_parse_settled(record, &out.settled);
    (void)record_parse_quarantine(record, &out.quarantine);
    (void)record_parse_session(record, &out.session);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct journal_parsed parsed;
    struct journal_record record = {.payload = data, .len = size};
    read_all(NULL, &record);
    if (journal_format_parse(data, size, read_all, NULL, &parsed) != GPUFL_OK) {
        return 0;
    }
    if (parsed.end > size) {
        __builtin_trap();
    }
    return 0;
}
