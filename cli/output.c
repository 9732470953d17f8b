/* SPDX-License-Identifier: Apache-2.0 */
/* Names the directory of a recording, and counts the sessions in it. */
#include "cli/output.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

bool output_default(const char *verb, char out[PATH_MAX])
{
    const char *home = getenv("HOME");
    time_t now = time(NULL);
    struct tm tm;
    char stamp[32];
    unsigned random = 0;
    if (!home || !*home || getrandom(&random, sizeof random, 0) < 0) {
        return false;
    }
    localtime_r(&now, &tm);
    strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &tm);
    return snprintf(out, PATH_MAX, "%s/.gpufl/%s/%s_%08x", home, verb, stamp, random) <
           PATH_MAX;
}

unsigned output_sessions(const char *directory)
{
    unsigned sessions = 0;
    DIR *dir = opendir(directory);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        sessions += e->d_name[0] != '.';
    }
    if (dir) {
        closedir(dir);
    }
    return sessions;
}

bool output_is_writable(const char *directory)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/.", directory);
    char *slash = n < PATH_MAX ? strrchr(path, '/') : NULL;
    while (slash && access(path, W_OK) < 0) {
        *slash = '\0';
        slash = strrchr(path, '/'); /* what is missing is made in its parent */
        if (errno != ENOENT) {
            return false;
        }
    }
    return true;
}
