/* SPDX-License-Identifier: Apache-2.0 */
/* Reads /proc/self and sets what protects the process. */
#include "agent/process.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

uint64_t process_resident_bytes(void)
{
    unsigned long long size;
    unsigned long long resident = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f) {
        if (fscanf(f, "%llu %llu", &size, &resident) != 2) {
            resident = 0;
        }
        fclose(f);
    }
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

unsigned process_open_fds(void)
{
    unsigned count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (dir && readdir(dir)) {
        count++;
    }
    if (dir) {
        closedir(dir);
    }
    return count > 3 ? count - 3 : 0; /* ".", "..", and the one that lists */
}

void process_protect(void)
{
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
#ifndef __SANITIZE_ADDRESS__ /* the leak checker attaches to the process */
    prctl(PR_SET_DUMPABLE, 0L, 0L, 0L, 0L);
#endif
}
