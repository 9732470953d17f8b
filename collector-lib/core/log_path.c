/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the directory of the sessions. */
#include "collector-lib/core/log_path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int log_path_make(const char *path)
{
    char *copy = strdup(path);
    if (!copy) {
        return -1;
    }
    int rc = 0;
    for (char *slash = copy + 1; rc == 0 && (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        rc = mkdir(copy, 0777) < 0 && errno != EEXIST ? -1 : 0;
        *slash = '/';
    }
    if (rc == 0 && mkdir(copy, 0777) < 0 && errno != EEXIST) {
        rc = -1;
    }
    int saved = errno;
    free(copy);
    errno = saved;
    return rc;
}
