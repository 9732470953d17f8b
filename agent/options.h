/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that can be set: reads flags, environment and file, and prints --help. */
#ifndef GPUFL_AGENT_OPTIONS_H
#define GPUFL_AGENT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <gpufl/status.h>

#include "base/log.h"
#include "upload/engine/engine.h"

enum watch_mode { WATCH_AUTO, WATCH_INOTIFY, WATCH_POLL };

/** The settings. Strings are malloc'd or NULL; release with options_fini. */
struct options {
    char *folder;
    char *folders; /**< comma-separated */
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
    int compression;   /**< enum engine_compression */
    int live_identity; /**< enum engine_identity */
    int watch;         /**< enum watch_mode */
    int state;         /**< 0 = disk, 1 = memory */
    int delete_acked;  /**< 0 = auto, 1 = never, 2 = acknowledged */
    int on_quota;      /**< 0 = hold, 1 = skip */
    int log_level;     /**< enum log_level */
    int log_format;    /**< enum log_sink_format */
    int landlock;      /**< enum confine_mode */
    bool allow_insecure_http;
    bool salvage;
    bool exit_when_drained;
    bool exit_if_empty;
    bool ignore_preexisting;
    bool retain_acked_payloads;
    const char *config_file; /**< of --config, borrowed from argv; NULL = none */
    const char *kafka; /**< the first setting of Kafka that was given, NULL = none */
    bool token_flag;   /**< the token was given on the command line */
    bool help;
    bool version;
};

/** Reads flags over environment over the file named by --config over defaults.
 *  \return GPUFL_OK or GPUFL_ERR_USAGE with one sentence in \p why. */
GPUFL_MUST gpufl_status options_read(int argc, char **argv, struct options *out,
                                     char why[512]);

/** Prints the help text. */
void options_help(FILE *out);

/** Sets the option whose key in the JSON file is \p json. Internal to config.c.
 *  \return GPUFL_OK, GPUFL_ERR_NOT_FOUND, GPUFL_ERR_USAGE. */
GPUFL_MUST gpufl_status options_set_json(struct options *out, const char *json,
                                         const char *value, char why[512]);

void options_fini(struct options *options);

#endif
