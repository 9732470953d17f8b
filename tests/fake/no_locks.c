/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded: a file system without locks, as Lustre without flock or NFS without lockd.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>

static int without_locks(const char *name, int fd, int command, void *argument)
{
    int (*real)(int, int, ...) = (int (*)(int, int, ...))dlsym(RTLD_NEXT, name);
    if (command == F_OFD_SETLK) {
        errno = ENOLCK;
        return -1;
    }
    return real(fd, command, argument);
}

#define WITHOUT_LOCKS(name)                                                              \
    int name(int fd, int command, ...)                                                   \
    {                                                                                    \
        va_list list;                                                                    \
        va_start(list, command);                                                         \
        void *argument = va_arg(list, void *);                                           \
        va_end(list);                                                                    \
        return without_locks(#name, fd, command, argument);                              \
    }
WITHOUT_LOCKS(fcntl)
WITHOUT_LOCKS(fcntl64)
