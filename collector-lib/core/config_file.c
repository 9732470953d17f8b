/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the file and takes its members one by one. */
#include "collector-lib/core/config_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/message.h"
#include "base/named_file.h"
#include "collector-lib/core/flat_json.h"
#include "collector-lib/core/library_log.h"
#include "collector-lib/core/option_fields.h"
#include "collector-lib/core/own_fd.h"

#define SHOWN_MAX_BYTES 300 /* of the path in a message */

struct reading {
    struct gpufl_init_options *into;
    struct option_members members;
};

static void set_from_member(void *arg, const char *key, enum flat_json_kind kind,
                            const char *value)
{
    struct reading *reading = arg;
    option_fields_take_member(reading->into, &reading->members, key, kind, value);
}

void config_file_read(struct config_file *file)
{
    const char *fault;
    struct own_fd own;
    bool opened = own_fd_take_briefly(&own, named_file_open(file->path, &fault));
    ssize_t n = opened ? read(own.fd, file->text, sizeof file->text) : -1;
    if (n < 0 && !fault) {
        fault = message_reason(errno);
    } else if (n > (ssize_t)CONFIG_FILE_MAX_BYTES) {
        fault = "too long (expected 65536 bytes at most)";
    }
    own_fd_close(&own);
    file->bytes = n < 0 ? 0 : (size_t)n;
    snprintf(file->fault, sizeof file->fault, "%s", fault ? fault : "");
}

void config_file_parse(struct config_file *file)
{
    struct flat_json_place stopped;
    struct reading reading = {.into = &file->options, .members = {.path = file->path}};
    file->options = (struct gpufl_init_options)GPUFL_INIT_OPTIONS_DEFAULT;
    if (!*file->path) {
        return;
    }
    if (*file->fault) {
        library_log(GPUFL_LOG_WARNING, "%s: '%.*s%s' ignored: %s", file->named_by,
                    MESSAGE_VALUE(file->path, SHOWN_MAX_BYTES), file->fault);
        return;
    }
    file->text[file->bytes] = '\0';
    if (!flat_json_parse(file->text, file->bytes, set_from_member, &reading, &stopped)) {
        library_log(GPUFL_LOG_WARNING,
                    "%s:%u:%u: not a JSON object; only what precedes the error is "
                    "used",
                    file->path, stopped.line, stopped.column);
    }
}
