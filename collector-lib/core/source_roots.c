/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the path of what was opened, so that a link that is put in its way meanwhile
 * leads nowhere. */
#include "collector-lib/core/source_roots.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/message.h"

#define SHOWN_MAX_BYTES 100 /* of a value in a message */

static gpufl_status refuse(char why[SOURCE_ROOTS_FAULT_BYTES], const char *root,
                           const char *what)
{
    snprintf(why, SOURCE_ROOTS_FAULT_BYTES,
             "'%.*s%s': %s (expected absolute directories, separated by "
             "':')",
             MESSAGE_VALUE(root, SHOWN_MAX_BYTES), what);
    return GPUFL_ERR_USAGE;
}

static bool is_directory(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* Leaves room for the empty path behind the last one. */
static gpufl_status add_root(const char *root, struct source_roots *out, size_t *used,
                             char why[SOURCE_ROOTS_FAULT_BYTES])
{
    bool here = strcmp(root, ".") == 0;
    if (!here && root[0] != '/') {
        return refuse(why, root, "not an absolute path");
    }
    char *path = realpath(root, NULL);
    if (!path) {
        return here ? GPUFL_OK : refuse(why, root, message_reason(errno));
    }
    if (here && strcmp(path, "/") == 0) { /* where services begin: it has every file */
        free(path);
        return GPUFL_OK;
    }
    gpufl_status status = GPUFL_OK;
    size_t size = strlen(path) + 1;
    if (!is_directory(path)) {
        status = refuse(why, root, message_reason(ENOTDIR));
    } else if (size >= sizeof out->paths - *used) {
        status = refuse(why, root, "no room for this one: all are too long together");
    } else {
        memcpy(out->paths + *used, path, size);
        *used += size;
    }
    free(path);
    return status;
}

gpufl_status source_roots_resolve(const char *list, struct source_roots *out,
                                  char why[SOURCE_ROOTS_FAULT_BYTES])
{
    size_t used = 0;
    char *rest = NULL;
    gpufl_status status = GPUFL_OK;
    memset(out, 0, sizeof *out);
    char *copy = strdup(list);
    if (!copy) {
        snprintf(why, SOURCE_ROOTS_FAULT_BYTES, "out of memory");
        return GPUFL_ERR_NOMEM;
    }
    for (char *root = strtok_r(copy, ":", &rest); root && status == GPUFL_OK;
         root = strtok_r(NULL, ":", &rest)) {
        status = add_root(root, out, &used, why);
    }
    free(copy);
    return status;
}

static bool lies_below(const char *path, const char *root)
{
    size_t len = strcmp(root, "/") == 0 ? 0 : strlen(root);
    return strncmp(path, root, len) == 0 && path[len] == '/';
}

static bool is_allowed(const struct source_roots *roots, const char *path)
{
    const char *root = roots->paths;
    while (*root && !lies_below(path, root)) {
        root += strlen(root) + 1;
    }
    return *root != '\0';
}

/* The path to which the kernel has come. */
static bool path_of(int fd, char path[PATH_MAX])
{
    char link[40];
    snprintf(link, sizeof link, "/proc/thread-self/fd/%d", fd);
    ssize_t len = readlink(link, path, PATH_MAX - 1);
    path[len > 0 ? len : 0] = '\0';
    return len > 0;
}

/* The same file, whatever has its name by now. */
static int reopen_same(int fd)
{
    char link[40];
    snprintf(link, sizeof link, "/proc/thread-self/fd/%d", fd);
    return open(link, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

static bool is_regular(int fd)
{
    struct stat about;
    return fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
}

enum source_file source_roots_open(const struct source_roots *roots, const char *path,
                                   struct own_fd *out)
{
    char real[PATH_MAX];
    struct own_fd place;
    enum source_file found = SOURCE_FILE_NONE;
    if (!own_fd_take(&place, open(path, O_PATH | O_CLOEXEC))) {
        return SOURCE_FILE_NONE;
    }
    if (is_regular(place.fd)) {
        bool allowed = path_of(place.fd, real) && is_allowed(roots, real);
        found = !allowed                                  ? SOURCE_FILE_OUTSIDE
                : own_fd_take(out, reopen_same(place.fd)) ? SOURCE_FILE_OPENED
                                                          : SOURCE_FILE_NONE;
    }
    own_fd_close(&place);
    return found;
}
