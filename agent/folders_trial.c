/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes folders, and compares where they lie. */
#include "agent/folders_trial.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/folders.h"
#include "base/file.h"
#include "base/message.h"
#include "upload/core/engine_state.h"
#include "upload/source/session_root.h"

static gpufl_status folder_refuse(const struct options *o, const char *path, int error,
                                  char why[512])
{
    snprintf(why, 512, "%s: '%.*s%s': %s (expected a directory that can be read)",
             folders_flag(o, path), MESSAGE_VALUE(path, 300), strerror(error));
    return error == ENOENT ? GPUFL_ERR_NOT_FOUND : GPUFL_ERR_IO;
}

/* One of the longest may have been cut to that. */
static int folder_open(const char *path)
{
    if (strlen(path) == PATH_MAX - 1) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static bool folder_is_top(int fd)
{
    struct stat st;
    struct stat top;
    return fstat(fd, &st) == 0 && stat("/", &top) == 0 && st.st_dev == top.st_dev &&
           st.st_ino == top.st_ino;
}

gpufl_status folder_trial(const struct options *o, const char *path, char why[512])
{
    char reason[512];
    int fd = folder_open(path);
    if (fd < 0) {
        return errno == ENOENT && !o->exit_when_drained
                   ? GPUFL_OK
                   : folder_refuse(o, path, errno, why);
    }
    bool top = folder_is_top(fd);
    close(fd);
    if (top) {
        snprintf(why, 512,
                 "%s: '%.*s%s': the root of the file system (give the directory that "
                 "holds the session directories)",
                 folders_flag(o, path), MESSAGE_VALUE(path, 300));
        return GPUFL_ERR_USAGE;
    }
    if (session_root_is_session(&sys_real, path, "", reason)) {
        snprintf(why, 512, "%s: %.490s", folders_flag(o, path), reason);
        return GPUFL_ERR_USAGE;
    }
    return GPUFL_OK;
}

/* A folder is served with the directories in it, as groups. */
static bool folder_is_in(const char *inner, const char *outer)
{
    char above[PATH_MAX + 4];
    char real[PATH_MAX];
    struct stat st;
    struct stat of_outer;
    snprintf(above, sizeof above, "%s/..", inner);
    if (stat(above, &st) == 0 && stat(outer, &of_outer) == 0) {
        return strcmp(inner, "/") != 0 && st.st_dev == of_outer.st_dev &&
               st.st_ino == of_outer.st_ino;
    }
    char *slash = file_real_path(inner, above) ? strrchr(above, '/') : NULL;
    if (!slash || !file_real_path(outer, real)) {
        return false;
    }
    slash[slash == above] = '\0';
    return strcmp(above, real) == 0;
}

static gpufl_status folder_trial_beside(const struct options *o, const char *path,
                                        char why[512])
{
    char other[PATH_MAX];
    for (unsigned i = 0; folders_at(o, i, other, sizeof other); i++) {
        if (folder_is_in(path, other)) {
            snprintf(why, 512,
                     "%s: '%.*s%s': it lies in '%.*s%s', which is served with the "
                     "sessions in its directories (leave one of the two out)",
                     folders_flag(o, path), MESSAGE_VALUE(path, 150),
                     MESSAGE_VALUE(other, 150));
            return GPUFL_ERR_USAGE;
        }
    }
    return GPUFL_OK;
}

gpufl_status folders_trial(const struct options *o, char why[512])
{
    char path[PATH_MAX];
    gpufl_status status = GPUFL_OK;
    if (folders_at(o, ENGINE_ROOTS_MAX, path, sizeof path)) {
        snprintf(why, 512,
                 "%s: '%.*s%s': more than %u directories (start a second agent for it)",
                 folders_flag(o, path), MESSAGE_VALUE(path, 300), ENGINE_ROOTS_MAX);
        return GPUFL_ERR_USAGE;
    }
    for (unsigned i = 0; status == GPUFL_OK && folders_at(o, i, path, sizeof path); i++) {
        status = folder_trial(o, path, why);
        status = status == GPUFL_OK ? folder_trial_beside(o, path, why) : status;
    }
    return status;
}
