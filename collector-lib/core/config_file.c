/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the file and takes its members one by one. */
#include "collector-lib/core/config_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/named_file.h"
#include "collector-lib/core/flat_json.h"
#include "collector-lib/core/library_log.h"
#include "collector-lib/core/option_fields.h"

static void set_from_member(void *arg, const char *key, enum flat_json_kind kind,
                            const char *value)
{
    struct config_file *file = arg;
    option_fields_take_member(&file->options, file->path, key, kind, value);
}

static ssize_t read_text(struct config_file *file, const char **fault)
{
    int fd = named_file_open(file->path, fault);
    ssize_t n = fd >= 0 ? read(fd, file->text, CONFIG_FILE_MAX_BYTES) : -1;
    if (n < 0 && !*fault) {
        *fault = strerror(errno);
    }
    if (fd >= 0) {
        close(fd);
    }
    return n;
}

void config_file_read(struct config_file *file)
{
    struct flat_json_place stopped;
    file->options = (struct gpufl_init_options)GPUFL_INIT_OPTIONS_DEFAULT;
    if (!file->path || !*file->path) {
        return;
    }
    const char *fault;
    ssize_t n = read_text(file, &fault);
    if (n < 0) {
        library_log(GPUFL_LOG_WARNING, "configuration file %s ignored: %s", file->path,
                    fault);
        return;
    }
    file->text[n] = '\0';
    if (!flat_json_parse(file->text, (size_t)n, set_from_member, file, &stopped)) {
        library_log(GPUFL_LOG_WARNING,
                    "%s:%u:%u: not a JSON object; only what precedes the error is "
                    "used",
                    file->path, stopped.line, stopped.column);
    }
}
