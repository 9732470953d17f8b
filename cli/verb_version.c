/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the version of gpufl and of the records that it writes. */
#include "cli/verb_version.h"

#include <stdio.h>

#include "base/flags.h"
#include "cli/exit_codes.h"
#include "cli/version_line.h"

static const struct flag_table version_table = {
    .program = "gpufl version",
    .version = VERSION_LINE,
    .usage = "",
    .about = "Prints the version of gpufl and of the records that it writes.",
};

int verb_version(int argc, char **argv)
{
    struct flag_words words = {argv, argc};
    int rc = flags_read(&version_table, &words, NULL);
    if (rc == FLAGS_GO_ON) {
        puts(VERSION_LINE);
        rc = EXIT_ALL_DONE;
    }
    return rc;
}
