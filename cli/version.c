/* SPDX-License-Identifier: Apache-2.0 */
/* gpufl version */
#include <stdio.h>

#include "cli/verbs.h"
#include "schema/protocol.h"

int verb_version(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    puts("gpufl " GPUFL_VERSION " (wire v" PROTOCOL_WIRE_VERSION ")");
    return EXIT_ALL_DONE;
}
