/* SPDX-License-Identifier: Apache-2.0 */
/* Sends a session as gpufl upload does, and looks whether that moved the journal. */
#include "cli/transfer/verify_resend.h"

#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "base/sys.h"
#include "cli/transfer/upload_flags.h"
#include "upload/journal/journal_read.h"
#include "upload/upload_logs.h"
#include "upload/upload_options.h"

static void verify_warn(void *arg, int level, const char *line)
{
    (void)arg;
    (void)level;
    message_line("gpufl verify", "%s", line);
}

void verify_resend(const struct gpufl_upload_options *to, const char *id, bool force)
{
    struct gpufl_upload_options options = *to;
    struct gpufl_upload_result result = GPUFL_UPLOAD_RESULT_INIT;
    options.session_id = id;
    options.force = force;
    options.diagnostic = verify_warn;
    gpufl_status status = upload_logs_named(&options, upload_names_of(&options), &result);
    if (status != GPUFL_OK) {
        message_line("gpufl verify", "--resend: %s: %s", id, result.message);
    }
    if (!force) {
        message_line(
            "gpufl verify",
            "--resend: %s: what the journal takes for sent was not sent again: "
            "lines of its channels without positions would be stored twice (gpufl "
            "upload --force --session-id %s does it nevertheless)",
            id, id);
    }
}

bool verify_resend_moved(const struct gpufl_upload_options *to, int root,
                         struct record_origin *before)
{
    struct journal_read journal = {0};
    struct record_origin now = {0};
    char *path = realpath(to->log_path, NULL);
    if (path && journal_read_open(&sys_real, *to->state_dir ? to->state_dir : NULL, root,
                                  path, &journal) == GPUFL_OK) {
        now = journal.origin.now;
    }
    journal_read_fini(&journal);
    free(path);
    bool moved = *before->url &&
                 (strcmp(now.url, before->url) != 0 || now.database != before->database);
    *before = now;
    return moved;
}
