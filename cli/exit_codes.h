/* SPDX-License-Identifier: Apache-2.0 */
/* The exit codes that all verbs share. */
#ifndef GPUFL_CLI_EXIT_CODES_H
#define GPUFL_CLI_EXIT_CODES_H

enum { EXIT_ALL_DONE = 0, EXIT_NOT_ALL = 1, EXIT_BAD_USE = 2 };

#endif
