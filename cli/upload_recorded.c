/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the flags of --upload into the options of an upload. */
#include "cli/upload_recorded.h"

#include <stdio.h>

#include "base/flags.h"
#include "base/message.h"

struct gpufl_upload_options upload_recorded_options(const struct upload_recorded *send,
                                                    const char *directory)
{
    struct gpufl_upload_options options = GPUFL_UPLOAD_OPTIONS_DEFAULT;
    options.log_path = directory;
    backend_arguments_apply(&send->backend, &options);
    return options;
}

void upload_recorded_failed(const char *program, const char *directory, const char *why)
{
    message_line(program, "--upload: %s; gpufl upload %s sends it later", why, directory);
}

/* Each would be ignored. */
static int refuse_unused(const struct upload_recorded *send,
                         const struct flag_table *table, const void *fields)
{
    const struct flag *flag = backend_arguments_given(table, fields, &send->backend);
    char name[80];
    if (!flag) {
        return FLAGS_GO_ON;
    }
    snprintf(name, sizeof name, "--%s", flag->name);
    return flags_wrong(table, name, "has no effect without --upload (give both)");
}

int upload_recorded_open(const struct upload_recorded *send,
                         const struct flag_table *table, const void *fields,
                         const char *directory, struct transfer_module *out)
{
    char why[512];
    struct gpufl_upload_result result = GPUFL_UPLOAD_RESULT_INIT;
    struct gpufl_upload_options options = upload_recorded_options(send, directory);
    if (!send->wanted) {
        return refuse_unused(send, table, fields);
    }
    if (!send->backend.backend_url) {
        return flags_wrong(table, "--upload",
                           "no backend (give --backend-url and --api-key, or set "
                           "GPUFL_BACKEND_URL and GPUFL_API_KEY)");
    }
    if (!*send->backend.api_key) {
        return flags_wrong(table, "--api-key", "missing (give it, or set GPUFL_API_KEY)");
    }
    if (!transfer_module_open(out, why)) {
        return flags_wrong(table, "--upload", "%s", why);
    }
    if (out->check_upload(&options, &result) != GPUFL_OK) {
        message_line(table->program, "%s", result.message);
        return FLAGS_WRONG;
    }
    return FLAGS_GO_ON;
}
