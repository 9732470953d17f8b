/* SPDX-License-Identifier: Apache-2.0 */
/* `--upload` of the verbs that record: what was recorded goes to a backend. */
#ifndef GPUFL_CLI_UPLOAD_RECORDED_H
#define GPUFL_CLI_UPLOAD_RECORDED_H

#include <stdbool.h>

#include <gpufl/upload.h>

#include "base/flag.h"
#include "cli/transfer_module.h"
#include "schema/protocol.h"

/** What the flags say. */
struct upload_recorded {
    bool wanted;
    const char *backend_url;
    const char *api_path;
    char api_key[FLAG_SECRET_BYTES];
    bool allow_insecure_http;
};

/** Rows for a table of flags whose struct has a struct upload_recorded at offset \p at;
 * \p when is the help of --upload. */
#define UPLOAD_RECORDED_FLAGS(at, when)                                                  \
    {.name = "upload",                                                                   \
     .type = FLAG_ON,                                                                    \
     .field = (at) + offsetof(struct upload_recorded, wanted),                           \
     .help = (when)},                                                                    \
        {.name = "backend-url",                                                          \
         .type = FLAG_TEXT,                                                              \
         .value = "URL",                                                                 \
         .field = (at) + offsetof(struct upload_recorded, backend_url),                  \
         .variable = "GPUFL_BACKEND_URL",                                                \
         .expected = "scheme://host[:port]",                                             \
         .help = "URL of the backend for --upload, scheme://host[:port]"},               \
        {.name = "api-key",                                                              \
         .type = FLAG_SECRET,                                                            \
         .value = "KEY",                                                                 \
         .field = (at) + offsetof(struct upload_recorded, api_key),                      \
         .variable = "GPUFL_API_KEY",                                                    \
         .help = "API key for --upload"},                                                \
        {.name = "api-path",                                                             \
         .type = FLAG_TEXT,                                                              \
         .value = "PATH",                                                                \
         .field = (at) + offsetof(struct upload_recorded, api_path),                     \
         .variable = "GPUFL_API_PATH",                                                   \
         .fallback = PROTOCOL_DEFAULT_API_PATH,                                          \
         .help = "path of the API"},                                                     \
    {                                                                                    \
        .name = "allow-insecure-http", .type = FLAG_ON,                                  \
        .field = (at) + offsetof(struct upload_recorded, allow_insecure_http),           \
        .help = "allow sending the key over http:// to a public address"                 \
    }

/** The options of an upload of \p directory; they borrow from both. */
struct gpufl_upload_options upload_recorded_options(const struct upload_recorded *send,
                                                    const char *directory);

/** Says on stderr that \p directory is not (all) at the backend, why, and how to send it
 * later. */
void upload_recorded_failed(const char *program, const char *directory, const char *why);

/** Before anything is recorded into \p directory: loads the module for --upload, and
 * checks that backend and key are given and well formed. \return FLAGS_GO_ON, or
 * FLAGS_WRONG after one line on stderr. */
int upload_recorded_open(const struct upload_recorded *send,
                         const struct flag_table *table, const char *directory,
                         struct transfer_module *out);

#endif
