/* SPDX-License-Identifier: Apache-2.0 */
/* How a backend is reached: the flags that each verb which sends takes alike. */
#ifndef GPUFL_CLI_BACKEND_ARGUMENTS_H
#define GPUFL_CLI_BACKEND_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

#include <gpufl/upload.h>

#include "base/flag.h"
#include "schema/protocol.h"

/** What the flags say; NULL = nothing. */
struct backend_arguments {
    const char *backend_url;
    const char *api_path;
    const char *ca_file;
    const char *client_cert;
    const char *client_key;
    const char *proxy;
    bool allow_insecure_http;
    bool same_origin;
    char api_key[FLAG_SECRET_BYTES];
};

#define BACKEND_ARGUMENT(at, f) .field = (at) + offsetof(struct backend_arguments, f)

/** Rows for a table of flags whose struct has a struct backend_arguments at offset \p at.
 */
#define BACKEND_ARGUMENTS_FLAGS(at)                                                      \
    {.name = "backend-url",                                                              \
     .type = FLAG_TEXT,                                                                  \
     .value = "URL",                                                                     \
     BACKEND_ARGUMENT(at, backend_url),                                                  \
     .variable = "GPUFL_BACKEND_URL",                                                    \
     .expected = "scheme://host[:port]",                                                 \
     .help = "URL of the backend, scheme://host[:port]"},                                \
        {.name = "api-key",                                                              \
         .type = FLAG_SECRET,                                                            \
         .value = "KEY",                                                                 \
         BACKEND_ARGUMENT(at, api_key),                                                  \
         .variable = "GPUFL_API_KEY",                                                    \
         .help = "API key; prefer the variable, which other users cannot see"},          \
        {.name = "api-path",                                                             \
         .type = FLAG_TEXT,                                                              \
         .value = "PATH",                                                                \
         BACKEND_ARGUMENT(at, api_path),                                                 \
         .variable = "GPUFL_API_PATH",                                                   \
         .fallback = PROTOCOL_DEFAULT_API_PATH,                                          \
         .help = "path of the API"},                                                     \
        {.name = "ca-file",                                                              \
         .type = FLAG_TEXT,                                                              \
         .value = "FILE",                                                                \
         BACKEND_ARGUMENT(at, ca_file),                                                  \
         .help = "PEM certificates to trust instead of the system's"},                   \
        {.name = "client-cert",                                                          \
         .type = FLAG_TEXT,                                                              \
         .value = "FILE",                                                                \
         BACKEND_ARGUMENT(at, client_cert),                                              \
         .help = "PEM certificate for a backend that asks for one"},                     \
        {.name = "client-key",                                                           \
         .type = FLAG_TEXT,                                                              \
         .value = "FILE",                                                                \
         BACKEND_ARGUMENT(at, client_key),                                               \
         .help = "private key of --client-cert, PEM"},                                   \
        {.name = "proxy",                                                                \
         .type = FLAG_TEXT,                                                              \
         .value = "URL",                                                                 \
         BACKEND_ARGUMENT(at, proxy),                                                    \
         .help = "proxy, http://host:port; none: no proxy, not even HTTPS_PROXY"},       \
        {.name = "allow-insecure-http",                                                  \
         .type = FLAG_ON,                                                                \
         BACKEND_ARGUMENT(at, allow_insecure_http),                                      \
         .help = "allow sending the key over http:// to a public address"},              \
    {                                                                                    \
        .name = "same-origin", .type = FLAG_ON, BACKEND_ARGUMENT(at, same_origin),       \
        .help = "the backend is the one from before, under another URL or key: go on "   \
                "where that one stopped"                                                 \
    }

/** Puts what \p from says into \p options, which borrow from it. */
void backend_arguments_apply(const struct backend_arguments *from,
                             struct gpufl_upload_options *options);

/** The first row of \p table for \p of, a part of \p fields, that the command line has
 * set, not a variable or the default; NULL = none. */
const struct flag *backend_arguments_given(const struct flag_table *table,
                                           const void *fields,
                                           const struct backend_arguments *of);

#endif
