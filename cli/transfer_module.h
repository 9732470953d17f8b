/* SPDX-License-Identifier: Apache-2.0 */
/* The module libgpufl-transfer.so: all of gpufl that needs libcurl, json-c, zstd or zlib.
 * Loaded when something is sent or its state is asked for, so that recording needs the C
 * library alone. */
#ifndef GPUFL_CLI_TRANSFER_MODULE_H
#define GPUFL_CLI_TRANSFER_MODULE_H

#include <stdbool.h>

#include <gpufl/upload.h>

#include "cli/transfer_arguments.h"

/** Version and interface. The Makefile computes the interface from the headers that both
 * sides include, because two builds of one version can differ in them. */
#define TRANSFER_MODULE_VERSION GPUFL_VERSION " (interface " TRANSFER_INTERFACE ")"

/** What the module offers, as the object gpufl_transfer_module. It stays loaded until the
 * process ends. */
struct transfer_module {
    const char *version; /**< first, so that every version finds it */
    int (*run_verb)(const struct transfer_arguments *arguments);
    gpufl_status (*upload_logs)(const struct gpufl_upload_options *options,
                                struct gpufl_upload_result *result);
    gpufl_status (*check_upload)(const struct gpufl_upload_options *options,
                                 struct gpufl_upload_result *result);
};

/** Loads the module that is installed with this program. \return false: \p why says what
 * is missing, and what to do. */
bool transfer_module_open(struct transfer_module *out, char why[512]);

#endif
