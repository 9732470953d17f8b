/* SPDX-License-Identifier: Apache-2.0 */
/* `gpufl export`: a session on standard output. */
#ifndef GPUFL_CLI_VERB_EXPORT_H
#define GPUFL_CLI_VERB_EXPORT_H

int verb_export(int argc, char **argv);

#endif
