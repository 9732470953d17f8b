/* SPDX-License-Identifier: Apache-2.0 */
/* Adds folders to the engine, at the start and when they appear. */
#include "agent/loop_folders.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/folders.h"
#include "agent/folders_trial.h"
#include "base/message.h"

#define MISSING_CHECK_MS 500u
#define ROOT_PATH_SHOWN  300 /* as engine_add_root() shows one */

/* Appends \p path to the comma-separated \p *list. */
static bool remember_folder(char **list, const char *path)
{
    char *more;
    if (asprintf(&more, "%s%s,", *list ? *list : "", path) < 0) {
        return false;
    }
    free(*list);
    *list = more;
    return true;
}

/* A sidecar may start before the job does. A run with --exit-when-drained
 * does not wait. */
static gpufl_status add_missing(struct loop *loop, const char *path, char why[512])
{
    if (folders_has(loop->missing, path)) {
        return GPUFL_OK;
    }
    if (loop->options->exit_when_drained || !remember_folder(&loop->missing, path)) {
        snprintf(why, 512, "%s: '%.*s%s': %s (expected a directory that can be read)",
                 folders_flag(loop->options, path), MESSAGE_VALUE(path, 300),
                 strerror(ENOENT));
        return GPUFL_ERR_NOT_FOUND;
    }
    if (!loop->running) {
        log_warn(&loop->log, "folder.missing",
                 "folder=%s note=\"waiting for it to appear%s\"", path,
                 folders_hint(path));
    }
    return GPUFL_OK;
}

/* Another uploader serves it, or what it is in, or this one what it is in. */
static void add_way_out(const struct loop *loop, const char *path, char why[512])
{
    char reason[512];
    size_t len = strlen(why);
    snprintf(reason, sizeof reason, "%s: '%.*s%s': %.300s%s",
             folders_flag(loop->options, path), MESSAGE_VALUE(path, 100), why,
             len && why[len - 1] == ')' ? ""
                                        : " (stop that one, or leave this folder out)");
    snprintf(why, 512, "%s", reason);
}

/* One directory may be given under several names: it is served once. */
static gpufl_status add_folder(struct loop *loop, const char *path, char why[512])
{
    struct engine_channels channels;
    char same[4096];
    gpufl_status status = folders_read_channels(loop->options, &channels, why);
    if (status == GPUFL_OK && folders_same(loop->served, path, same, sizeof same)) {
        log_info(&loop->log, "folder.same", "folder=%s as=%s", path, same);
        return GPUFL_OK;
    }
    status = status == GPUFL_OK ? folder_trial(loop->options, path, why) : status;
    if (status == GPUFL_OK && loop->options->ignore_preexisting && !loop->running) {
        status = folders_list(path, &loop->ignored, why);
    }
    if (status == GPUFL_OK) {
        status = engine_add_root(loop->engine, path, &channels, why);
    }
    if (status == GPUFL_BUSY) {
        add_way_out(loop, path, why);
    }
    size_t shown = strnlen(path, ROOT_PATH_SHOWN);
    if (status != GPUFL_OK && strncmp(why, path, shown) == 0) {
        char reason[512];
        snprintf(reason, sizeof reason, "'%.*s%s'%.190s",
                 MESSAGE_VALUE(path, ROOT_PATH_SHOWN), why + shown);
        snprintf(why, 512, "%s: %.490s", folders_flag(loop->options, path), reason);
    }
    if (status == GPUFL_OK && !remember_folder(&loop->served, path)) {
        snprintf(why, 512, "out of memory");
        status = GPUFL_ERR_NOMEM;
    }
    return status;
}

gpufl_status loop_add_folders(struct loop *loop, const char *list, char why[512])
{
    char path[4096];
    gpufl_status status = GPUFL_OK;
    while (status == GPUFL_OK && folders_next(&list, path, sizeof path)) {
        if (access(path, F_OK) < 0 && errno == ENOENT) {
            status = add_missing(loop, path, why);
        } else {
            status = add_folder(loop, path, why);
        }
    }
    return status;
}

/* It is tried again: another uploader may end, a mode be changed. */
static void refuse_late(struct loop *loop, const char *path, const char *why)
{
    snprintf(loop->refused_why, sizeof loop->refused_why, "%s", why);
    if (!folders_has(loop->refused, path)) {
        log_error(&loop->log, "folder.refused",
                  "reason=\"%s\" note=\"tried again until it can be served\"", why);
        (void)remember_folder(&loop->refused, path); /* else it is said again */
    }
    (void)remember_folder(&loop->missing, path);
}

void loop_find_missing_folders(struct loop *loop, uint64_t now_ms)
{
    char *rest;
    if (!loop->missing || now_ms < loop->missing_check_ms) {
        return;
    }
    char *list = loop->missing;
    loop->missing = NULL;
    loop->refused_why[0] = '\0';
    loop->missing_check_ms = now_ms + MISSING_CHECK_MS;
    for (char *path = strtok_r(list, ",", &rest); path;
         path = strtok_r(NULL, ",", &rest)) {
        char why[512] = "";
        if (loop_add_folders(loop, path, why) != GPUFL_OK) { /* the others go on */
            refuse_late(loop, path, why);
        }
    }
    free(list);
}
