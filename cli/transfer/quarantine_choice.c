/* SPDX-License-Identifier: Apache-2.0 */
/* Tells which ranges are meant. */
#include "cli/transfer/quarantine_choice.h"

#include <stdio.h>
#include <string.h>

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
    fprintf(stderr, "gpufl quarantine: %s: %s\n", what, why);
    return rc;
}

int quarantine_choice_none(const struct quarantine_choice *choice)
{
    return quarantine_choice_fail(EXIT_NOT_ALL,
                                  choice->count ? choice->names[0] : choice->directory,
                                  "no such range (see gpufl quarantine list)");
}
