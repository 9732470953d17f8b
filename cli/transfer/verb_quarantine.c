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
    struct transport_http_config backend = upload_flags_backend(&a->to);
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
