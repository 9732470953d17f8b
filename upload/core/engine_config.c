/* SPDX-License-Identifier: Apache-2.0 */
/* The defaults of an engine's configuration, and its flush interval as a point in time.
 */
#include "upload/core/engine_config.h"

#include "schema/protocol.h"

#define FLUSH_INTERVAL_MS   500u
#define REQUESTS_PER_SECOND 50u
#define RESCAN_INTERVAL_MS  10000u
#define DIRECTORY_BYTES     (112u << 20)
#define QUARANTINE_RANGES   65536u
#define JOURNAL_BYTES       (512u << 10)
#define ZSTD_LEVEL          1

void engine_config_default(struct engine_config *config)
{
    *config = (struct engine_config){
        .sys = &sys_real,
        .syncer = syncer_inline(&sys_real),
        .flush_interval_ms = FLUSH_INTERVAL_MS,
        .max_requests_per_second = REQUESTS_PER_SECOND,
        .max_batch_bytes = PROTOCOL_MAX_BATCH_BYTES,
        .max_batch_lines = PROTOCOL_MAX_LINES,
        .zstd_level = ZSTD_LEVEL,
        .rescan_interval_ms = RESCAN_INTERVAL_MS,
        .directory_bytes = DIRECTORY_BYTES,
        .quarantine_ranges = QUARANTINE_RANGES,
        .journal_bytes = JOURNAL_BYTES,
        .program = "gpufl",
        .same_origin_name = "--same-origin",
    };
}

uint64_t engine_config_next_flush(const struct engine_config *config, uint64_t now_ms)
{
    uint64_t interval_ms = config->flush_interval_ms;
    return interval_ms ? now_ms - now_ms % interval_ms + interval_ms : now_ms;
}
