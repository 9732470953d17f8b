/* SPDX-License-Identifier: Apache-2.0 */
/* Sends the sessions of a directory, now. */
#include "cli/transfer/verb_upload.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/message.h"
#include "base/parse_bool.h"
#include "cli/exit_codes.h"
#include "cli/transfer/upload_flags.h"
#include "cli/transfer/upload_report.h"
#include "upload/upload_logs.h"

static void warn_upload(void *arg, int level, const char *line)
{
    const bool *quiet = arg;
    if (!*quiet || level == 0) {
        fprintf(stderr, "%s%s\n", isatty(STDERR_FILENO) ? "\r\033[K" : "", line);
    }
}

static int upload_exit_code(gpufl_status status)
{
    switch (status) {
    case GPUFL_OK:
        return EXIT_ALL_DONE;
    case GPUFL_PARTIAL:
    case GPUFL_BUSY:
        return EXIT_NOT_ALL;
    default:
        return EXIT_BAD_USE;
    }
}

int verb_upload(const struct upload_arguments *a)
{
    struct gpufl_upload_options options = a->options;
    struct gpufl_upload_result result = GPUFL_UPLOAD_RESULT_INIT;
    bool bar = !a->quiet && isatty(STDERR_FILENO);
    bool quiet = a->quiet;
    options.progress = bar ? upload_report_progress : NULL;
    /* Where it is switched off, the one warning is the message of the result, too. */
    options.diagnostic = parse_bool(getenv("GPUFL_DISABLED")) ? NULL : warn_upload;
    options.diagnostic_arg = &quiet;
    gpufl_status status = upload_logs_named(&options, upload_names_of(&options), &result);
    if (bar) {
        fputc('\n', stderr);
    }
    if (a->json) {
        upload_report_json(status, &result);
    } else if (status != GPUFL_OK || !a->quiet) {
        upload_report_line(status, &result);
    } else if (result.sessions_lossy) {
        message_line("gpufl upload", "%s", result.message);
    }
    return upload_exit_code(status);
}
