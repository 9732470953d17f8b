/* SPDX-License-Identifier: Apache-2.0 */
/* Lists, shows, retries or drops what the backend rejected permanently. */
#include "cli/transfer/verb_quarantine.h"

#include <gpufl/upload.h>

#include "cli/exit_codes.h"
#include "cli/transfer/quarantine_act.h"
#include "cli/transfer/quarantine_view.h"
#include "cli/transfer/upload_flags.h"
#include "upload/source/session_root.h"

static int retry_chosen(const struct quarantine_arguments *a,
                        const struct quarantine_choice *choice)
{
    const struct gpufl_upload_options *to = &a->to;
    struct transport_http_config backend = {
        .user_agent = "gpufl/" GPUFL_VERSION,
        .connect_timeout_ms = GPUFL_UPLOAD_CONNECT_TIMEOUT_MS,
        .read_timeout_ms = GPUFL_UPLOAD_READ_TIMEOUT_MS,
        .total_timeout_ms = GPUFL_UPLOAD_TOTAL_TIMEOUT_MS,
        .backend_url = to->backend_url,
        .api_path = to->api_path,
        .token = to->api_key,
        .ca_file = to->ca_file,
        .client_cert = to->client_cert,
        .client_key = to->client_key,
        .proxy = to->proxy,
        .allow_insecure_http = to->allow_insecure_http,
        .option_name = upload_names_of(to)};
    return quarantine_act_retry(choice, &backend);
}

int verb_quarantine(const struct quarantine_arguments *a)
{
    struct quarantine_choice choice = {.directory = a->directory,
                                       .state_dir = a->state_dir,
                                       .names = a->names,
                                       .count = a->count,
                                       .all = a->all,
                                       .same_origin = a->backend.same_origin};
    char why[512];
    if (session_root_is_session(&sys_real, a->directory, "", why)) {
        return quarantine_choice_fail(EXIT_BAD_USE, "DIR", why);
    }
    if (a->action == QUARANTINE_LIST) {
        return quarantine_view_list(&choice, a->json);
    }
    if (a->action == QUARANTINE_SHOW) {
        return quarantine_view_show(&choice);
    }
    return a->action == QUARANTINE_RETRY ? retry_chosen(a, &choice)
                                         : quarantine_act_drop(&choice);
}
