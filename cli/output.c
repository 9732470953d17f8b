/* SPDX-License-Identifier: Apache-2.0 */
/* Names the directory of a recording, and counts the sessions in it. */
#include "cli/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"

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

/* Whether \p e of \p dir is a directory whose name can be that of a session. */
static bool is_session(DIR *dir, const struct dirent *e)
{
    struct stat st;
    return e->d_name[0] != '.' &&
           fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(st.st_mode);
}

static bool is_among(const struct output_sessions *known, const char *name)
{
    for (size_t i = 0; i < known->count; i++) {
        if (strcmp(known->name[i], name) == 0) {
            return true;
        }
    }
    return false;
}

struct output_sessions output_sessions(const char *directory)
{
    struct output_sessions out = {0};
    DIR *dir = opendir(directory);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char **more = is_session(dir, e)
                          ? array_grown(out.name, out.count, &out.cap, sizeof *out.name)
                          : NULL;
        if (more) {
            out.name = more;
            out.name[out.count] = strdup(e->d_name);
            out.count += out.name[out.count] != NULL;
        }
    }
    if (dir) {
        closedir(dir);
    }
    return out;
}

unsigned output_sessions_new(const char *directory, const struct output_sessions *before)
{
    unsigned sessions = 0;
    struct output_sessions now = output_sessions(directory);
    for (size_t i = 0; i < now.count; i++) {
        sessions += !is_among(before, now.name[i]);
    }
    output_sessions_free(&now);
    return sessions;
}

void output_sessions_free(struct output_sessions *sessions)
{
    for (size_t i = 0; i < sessions->count; i++) {
        free(sessions->name[i]);
    }
    free(sessions->name);
    *sessions = (struct output_sessions){0};
}

bool output_is_writable(const char *directory)
{
    static const char probe[] = "/.gpufl-XXXXXX";
    char path[PATH_MAX + sizeof probe];
    struct stat st;
    int n = snprintf(path, PATH_MAX, "%s", directory);
    if (n >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    while (stat(path, &st) < 0) {
        char *slash = strrchr(path, '/'); /* what is missing is made in its parent */
        if (errno != ENOENT) {
            return false;
        }
        snprintf(slash ? slash + (slash == path) : path, 2, "%s", slash ? "" : ".");
    }
    memcpy(path + strlen(path), probe, sizeof probe);
    return mkdtemp(path) && rmdir(path) == 0; /* access(2) knows nothing of /proc */
}
