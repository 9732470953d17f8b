/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

bool default_output(const char *kind, char out[PATH_MAX])
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
    return snprintf(out, PATH_MAX, "%s/.gpufl/%s/%s_%08x", home, kind, stamp, random) <
           PATH_MAX;
}
