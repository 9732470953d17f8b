/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/engine_options.h"

#include <stdio.h>

void engine_options(const struct options *o, struct engine_config *config)
{
    engine_config_default(config);
    config->flush_interval_ms = o->flush_interval_ms;
    config->max_requests_per_second = (unsigned)o->max_requests_per_second;
    config->compression = (enum engine_compression)o->compression;
    config->identity = (enum engine_identity)o->live_identity;
    config->zstd_level = (int)o->zstd_level;
    config->orphan_timeout_ms = o->orphan_timeout_ms;
    config->rescan_interval_ms = o->rescan_interval_ms;
    config->skip_on_quota = o->on_quota == 1;
    config->delete_acked = o->retain_acked_payloads || o->delete_acked == 1 ? DELETE_NEVER
                           : o->delete_acked == 2                           ? DELETE_ALL
                                                  : DELETE_WINDOWS;
    config->salvage = o->salvage;
    config->memory_state = o->state == 1;
    config->state_dir = o->state_dir;
    config->program = "gpufl-agent";
    if (o->stream_max_lines) {
        config->max_batch_lines = (uint32_t)o->stream_max_lines;
    }
    if (o->stream_max_bytes) {
        config->max_batch_bytes = (size_t)o->stream_max_bytes;
    }
}

gpufl_status engine_options_cursor(const struct options *o, const struct log *log,
                                   struct java_cursor **out, char why[512])
{
    *out = NULL;
    if (!o->cursor_file || !*o->cursor_file) {
        return GPUFL_OK;
    }
    gpufl_status status = java_cursor_open(o->cursor_file, out);
    if (status == GPUFL_ERR_NOT_FOUND) {
        log_info(log, "cursor.none", "file=%s", o->cursor_file);
        return GPUFL_OK;
    }
    snprintf(
        why, 512,
        "--cursor-file=%.300s is no cursor of the existing agent (%s); repair it, or "
        "leave the option out and everything is sent again",
        o->cursor_file, gpufl_status_text(status));
    return status;
}
