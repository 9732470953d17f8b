/* SPDX-License-Identifier: Apache-2.0 */
/* Hands upload, status, quarantine and resolve to the transfer module. */
#include "cli/verb_transfer.h"

#include <stdio.h>

#include "cli/exit_codes.h"
#include "cli/transfer_module.h"

int verb_transfer(int argc, char **argv)
{
    struct transfer_module module;
    char why[512];
    if (!transfer_module_open(&module, why)) {
        fprintf(stderr, "gpufl %s: %s\n", argv[0], why);
        return EXIT_BAD_USE;
    }
    return module.run_verb(argc, argv);
}
