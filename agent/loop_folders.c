/* SPDX-License-Identifier: Apache-2.0 */
/* Adds folders to the engine, at the start and when they appear. */
#include "agent/loop_folders.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/folders.h"

#define MISSING_CHECK_MS 500u

/* A sidecar may start before the job does. A run with --exit-when-drained
 * does not wait. */
static gpufl_status add_missing(struct loop *loop, const char *path, char why[512])
{
    char *more = NULL;
    if (loop->options->exit_when_drained ||
        asprintf(&more, "%s%s,", loop->missing ? loop->missing : "", path) < 0) {
        snprintf(why, 512, "cannot open %.300s: %s", path, strerror(ENOENT));
        return GPUFL_ERR_NOT_FOUND;
    }
    if (!loop->running) {
        log_warn(&loop->log, "folder.missing",
                 "folder=%s note=\"waiting for it to appear\"", path);
    }
    free(loop->missing);
    loop->missing = more;
    return GPUFL_OK;
}

gpufl_status loop_add_folders(struct loop *loop, const char *list, char why[512])
{
    struct engine_channels channels;
    char path[4096];
    gpufl_status status = folders_read_channels(loop->options, &channels, why);
    while (status == GPUFL_OK && list && *list) {
        list += strspn(list, ",");
        size_t len = strcspn(list, ",");
        if (len == 0) {
            break;
        }
        snprintf(path, sizeof path, "%.*s", (int)len, list);
        list += len;
        if (access(path, F_OK) < 0 && errno == ENOENT) {
            status = add_missing(loop, path, why);
            continue;
        }
        if (loop->options->ignore_preexisting && !loop->running) {
            status = folders_list(path, &loop->ignored, why);
        }
        if (status == GPUFL_OK) {
            status = engine_add_root(loop->engine, path, &channels, why);
        }
    }
    return status;
}

void loop_find_missing_folders(struct loop *loop, uint64_t now_ms)
{
    char *rest;
    if (!loop->missing || now_ms < loop->missing_check_ms) {
        return;
    }
    char *list = loop->missing;
    loop->missing = NULL;
    loop->missing_check_ms = now_ms + MISSING_CHECK_MS;
    for (char *path = strtok_r(list, ",", &rest); path;
         path = strtok_r(NULL, ",", &rest)) {
        char why[512] = "";
        if (loop_add_folders(loop, path, why) != GPUFL_OK) { /* the others go on */
            log_error(&loop->log, "folder.refused", "reason=\"%s\"", why);
        }
    }
    free(list);
}
