/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration file: one JSON object with the fields of gpufl_init_options. */
#ifndef GPUFL_COLLECTOR_CORE_CONFIG_FILE_H
#define GPUFL_COLLECTOR_CORE_CONFIG_FILE_H

#include <gpufl/gpufl.h>

#define CONFIG_FILE_MAX_BYTES 65536u

/** The options of a file; their strings may point into `text`. */
struct config_file {
    const char *path; /**< NULL or "" = there is none */
    struct gpufl_init_options options;
    char text[CONFIG_FILE_MAX_BYTES + 1];
};

/** Fills in file->options: the defaults, and what the file sets. Mistakes are reported on
 * stderr, a line each. */
void config_file_read(struct config_file *file);

#endif
