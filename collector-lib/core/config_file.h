/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration file: one JSON object with the fields of gpufl_init_options. */
#ifndef GPUFL_COLLECTOR_CORE_CONFIG_FILE_H
#define GPUFL_COLLECTOR_CORE_CONFIG_FILE_H

#include <limits.h>
#include <stddef.h>

#include <gpufl/gpufl.h>

#define CONFIG_FILE_MAX_BYTES 65536u

/** The options of a file; their strings may point into `text`. */
struct config_file {
    char path[PATH_MAX];  /**< "" = there is none */
    const char *named_by; /**< the field or variable that names it */
    char fault[128];      /**< why it cannot be read; "" = it was */
    struct gpufl_init_options options;
    size_t bytes;
    char text[CONFIG_FILE_MAX_BYTES + 1]; /**< one more tells that it is too long */
};

/** Reads the text of file->path. It calls the file system, and nothing else. */
void config_file_read(struct config_file *file);

/** Fills in file->options: the defaults, and what the file sets. Mistakes are reported on
 * stderr, a line each. */
void config_file_parse(struct config_file *file);

#endif
