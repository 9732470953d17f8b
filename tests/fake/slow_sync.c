/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded: while the file $FAKE_SLOW_SYNC exists, a sync takes five seconds, as on a
 * disk that is about to fail. */
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static int slow(int fd, const char *name)
{
    const char *flag = getenv("FAKE_SLOW_SYNC");
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    if (flag && access(flag, F_OK) == 0) {
        sleep(5);
    }
    return real(fd);
}

int fdatasync(int fd)
{
    return slow(fd, "fdatasync");
}

int fsync(int fd)
{
    return slow(fd, "fsync");
}
