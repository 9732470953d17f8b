/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the arguments of the verbs that send, or look at what was sent; the transfer
 * module does the rest. */
#include "cli/verb_transfer.h"

#include <stdio.h>

#include "base/flags.h"
#include "base/message.h"
#include "cli/exit_codes.h"
#include "cli/transfer_module.h"

int verb_transfer(int argc, char **argv)
{
    struct transfer_module module;
    struct transfer_arguments arguments;
    char why[512];
    int rc = transfer_arguments_read(argc, argv, &arguments);
    if (rc != FLAGS_GO_ON) {
        return rc;
    }
    if (!transfer_module_open(&module, why)) {
        char program[32];
        snprintf(program, sizeof program, "gpufl %s", argv[0]);
        message_line(program, "%s", why);
        return EXIT_BAD_USE;
    }
    return module.run_verb(&arguments);
}
