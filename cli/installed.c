/* SPDX-License-Identifier: Apache-2.0 */
/* Looks in the few places that a library of gpufl can be in, from where gpufl itself is.
 */
#include "cli/installed.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* Debian keeps the libraries of several architectures side by side. */
#if defined(__x86_64__)
#define ARCHITECTURE "x86_64"
#elif defined(__aarch64__)
#define ARCHITECTURE "aarch64"
#else
#define ARCHITECTURE "*"
#endif

/* The path of this program, "" if unknown. */
static void find_program(char out[PATH_MAX])
{
    ssize_t len = readlink("/proc/self/exe", out, PATH_MAX - 1);
    out[len > 0 ? len : 0] = '\0';
    const char *started = (const char *)getauxval(AT_EXECFN);
    if (len <= 0 && (!started || !realpath(started, out))) { /* without /proc */
        out[0] = '\0';
    }
}

bool installed_find(const char *file, char out[PATH_MAX])
{
    static const char *const place[] = {"", "/../lib/gpufl",
                                        "/../lib/" ARCHITECTURE "-linux-gnu/gpufl",
                                        "/../lib64/gpufl"};
    char self[PATH_MAX];
    find_program(self);
    char *slash = strrchr(self, '/');
    bool found = false;
    if (slash) {
        *slash = '\0';
    }
    for (size_t i = 0; slash && !found && i < sizeof place / sizeof place[0]; i++) {
        char pattern[PATH_MAX + 128];
        glob_t at = {0};
        snprintf(pattern, sizeof pattern, "%s%s/%s", self, place[i], file);
        found = glob(pattern, 0, NULL, &at) == 0 && realpath(at.gl_pathv[0], out);
        globfree(&at);
    }
    return found;
}
