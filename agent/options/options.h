/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's settings, as the rest of the program reads them. */
#ifndef GPUFL_AGENT_OPTIONS_OPTIONS_H
#define GPUFL_AGENT_OPTIONS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "upload/engine/engine.h"

enum watch_mode { WATCH_AUTO, WATCH_INOTIFY, WATCH_POLL };
enum state_mode { STATE_ON_DISK, STATE_IN_MEMORY };
enum quota_mode { QUOTA_HOLD, QUOTA_SKIP };
enum delete_mode { DELETE_ACKED_AUTO, DELETE_ACKED_NEVER, DELETE_ACKED_ALL };
enum log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JSON };
enum confine_mode { CONFINE_AUTO, CONFINE_OFF, CONFINE_REQUIRE };

/** Where a value came from, the weakest first. */
enum option_source {
    SOURCE_DEFAULT,
    SOURCE_FILE,
    SOURCE_ENVIRONMENT,
    SOURCE_FLAG,
};

#define OPTIONS_MAX 64u /* rows of the table */

/** The settings, one field for each row of the table (agent/options/option_table.c),
 * which has the defaults. Strings are malloc'd or NULL; release with option_values_free.
 */
struct options {
    char *config_file;
    char *folder;
    char *folders;      /**< comma-separated */
    bool folder_unused; /**< source.folder of a file, beside its sources */
    char *log_types;
    char *cursor_file;
    char *type;
    char *host;
    char *api_version;
    char *api_path;
    char *token;
    char *token_file;
    char *ca_file;
    char *client_cert;
    char *client_key;
    char *proxy;
    char *listen;
    char *require_owner_uid;
    char *state_dir;
    uint64_t connect_timeout_s;
    uint64_t read_timeout_ms;
    uint64_t stream_max_lines;
    uint64_t stream_max_bytes;
    uint64_t flush_interval_ms;
    uint64_t max_requests_per_second;
    uint64_t rescan_interval_ms;
    uint64_t orphan_timeout_ms;
    uint64_t drain_timeout_ms;
    uint64_t zstd_level;
    enum engine_compression compression;
    enum engine_identity live_identity;
    enum watch_mode watch;
    enum state_mode state;
    enum delete_mode delete_acked;
    enum quota_mode on_quota;
    enum log_level log_level;
    enum log_format log_format;
    enum confine_mode landlock;
    bool allow_insecure_http;
    bool salvage;
    bool same_origin;
    bool exit_when_drained;
    bool exit_if_empty;
    bool ignore_preexisting;
    bool retain_acked_payloads;
    bool check;
    bool help;
    bool version;
    enum option_source source[OPTIONS_MAX]; /**< of each row's value */
};

#endif
