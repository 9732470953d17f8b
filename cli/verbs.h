/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs of gpufl, one file each. Each returns the exit code. */
#ifndef GPUFL_CLI_VERBS_H
#define GPUFL_CLI_VERBS_H

int verb_upload(int argc, char **argv);
int verb_status(int argc, char **argv);
int verb_quarantine(int argc, char **argv);
int verb_monitor(int argc, char **argv);
int verb_trace(int argc, char **argv);
int verb_info(int argc, char **argv);
int verb_version(int argc, char **argv);

/** Exit codes of all verbs. */
enum { EXIT_ALL_DONE = 0, EXIT_NOT_ALL = 1, EXIT_BAD_USE = 2 };

#endif
