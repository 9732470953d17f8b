/* SPDX-License-Identifier: Apache-2.0 */
/* Tells which ranges are meant. */
#include "cli/transfer/quarantine_choice.h"

#include <stdio.h>
#include <string.h>

#include "base/message.h"
#include "cli/exit_codes.h"

bool quarantine_choice_has(const struct quarantine_choice *choice,
                           const struct quarantined *range)
{
    for (int i = 0; i < choice->count; i++) {
        if (strcmp(choice->names[i], range->name) == 0) {
            return true;
        }
    }
    return choice->all;
}

int quarantine_choice_fail(int rc, const char *what, const char *why)
{
    message_line("gpufl quarantine", "%s: %s", what, why);
    return rc;
}

bool quarantine_choice_of_none(const struct quarantine_choice *choice,
                               quarantine_get *get, const void *from)
{
    struct quarantined range;
    bool none = choice->count == 0 && !get(from, 0, &range);
    if (none) {
        message_line("gpufl quarantine", "nothing is quarantined in %s",
                     choice->directory);
    }
    return none;
}

int quarantine_choice_missing(const struct quarantine_choice *choice, quarantine_get *get,
                              const void *from)
{
    int rc = EXIT_ALL_DONE;
    for (int i = 0; i < choice->count; i++) {
        struct quarantined range;
        bool found = false;
        for (size_t k = 0; !found && get(from, k, &range); k++) {
            found = strcmp(choice->names[i], range.name) == 0;
        }
        if (!found) {
            message_line("gpufl quarantine",
                         "NAME: '%s': no such range (gpufl quarantine list "
                         "'%s' shows the names)",
                         choice->names[i], choice->directory);
            rc = EXIT_NOT_ALL;
        }
    }
    return rc;
}
