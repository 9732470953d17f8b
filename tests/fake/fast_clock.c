/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded: the clock by which gpufl waits runs $FAKE_CLOCK_RATE times as fast as it is;
 * that of libcurl's time limits does not. The clock of the day is set by as many seconds
 * as the file $FAKE_CLOCK_SET holds. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NS_OF_S 1000000000LL

static time_t set_by_s(void)
{
    const char *path = getenv("FAKE_CLOCK_SET");
    FILE *file = path ? fopen(path, "re") : NULL;
    char text[32] = "";
    if (file) {
        (void)!fgets(text, sizeof text, file);
        fclose(file);
    }
    return (time_t)strtoll(text, NULL, 10);
}

int clock_gettime(clockid_t id, struct timespec *out)
{
    int (*real)(clockid_t, struct timespec *) =
        (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    const char *rate = getenv("FAKE_CLOCK_RATE");
    int rc = real(id, out);
    if (rc == 0 && rate && id == CLOCK_BOOTTIME) {
        long long ns =
            ((long long)out->tv_sec * NS_OF_S + out->tv_nsec) * strtoll(rate, NULL, 10);
        *out =
            (struct timespec){.tv_sec = (time_t)(ns / NS_OF_S), .tv_nsec = ns % NS_OF_S};
    }
    if (rc == 0 && id == CLOCK_REALTIME) {
        out->tv_sec += set_by_s();
    }
    return rc;
}
