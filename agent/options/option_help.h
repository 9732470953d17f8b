/* SPDX-License-Identifier: Apache-2.0 */
/* The text of --help, from the option table. */
#ifndef GPUFL_AGENT_OPTIONS_OPTION_HELP_H
#define GPUFL_AGENT_OPTIONS_OPTION_HELP_H

#include <stdio.h>

/** Prints it. */
void option_help_print(FILE *out);

#endif
