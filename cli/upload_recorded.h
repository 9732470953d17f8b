/* SPDX-License-Identifier: Apache-2.0 */
/* `--upload` of the verbs that record: what was recorded goes to a backend. */
#ifndef GPUFL_CLI_UPLOAD_RECORDED_H
#define GPUFL_CLI_UPLOAD_RECORDED_H

#include <stdbool.h>

#include <gpufl/upload.h>

#include "cli/backend_arguments.h"
#include "cli/transfer_module.h"

/** What the flags say. */
struct upload_recorded {
    bool wanted;
    struct backend_arguments backend;
};

/** Rows for a table of flags whose struct has a struct upload_recorded at offset \p at;
 * \p when is the help of --upload. */
#define UPLOAD_RECORDED_FLAGS(at, when)                                                  \
    {.name = "upload",                                                                   \
     .type = FLAG_ON,                                                                    \
     .field = (at) + offsetof(struct upload_recorded, wanted),                           \
     .help = (when)},                                                                    \
        BACKEND_ARGUMENTS_FLAGS((at) + offsetof(struct upload_recorded, backend))

/** The options of an upload of \p directory; they borrow from both. */
struct gpufl_upload_options upload_recorded_options(const struct upload_recorded *send,
                                                    const char *directory);

/** Says on stderr that \p directory is not (all) at the backend, why, and how to send it
 * later. */
void upload_recorded_failed(const char *program, const char *directory, const char *why);

/** Before anything is recorded into \p directory: loads the module for --upload, and
 * checks that backend and key are given and well formed. \p send is a part of \p fields,
 * which \p table has filled in. \return FLAGS_GO_ON, or FLAGS_WRONG after one line on
 * stderr. */
int upload_recorded_open(const struct upload_recorded *send,
                         const struct flag_table *table, const void *fields,
                         const char *directory, struct transfer_module *out);

#endif
