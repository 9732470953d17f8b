/* SPDX-License-Identifier: Apache-2.0 */
/* Strings in the JSON that verbs print. */
#ifndef GPUFL_CLI_JSON_H
#define GPUFL_CLI_JSON_H

/** Prints \p text as a quoted JSON string on stdout. */
void json_print(const char *text);

#endif
