/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded: stops the process before its call number $FAKE_STOP_AT that
 * renames, links or removes a file below an open directory. There a test can kill it. */
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_int calls;

static void *stop_at_name(const char *function)
{
    const char *at = getenv("FAKE_STOP_AT");
    if (at && atomic_fetch_add(&calls, 1) + 1 == strtol(at, NULL, 10)) {
        raise(SIGSTOP);
    }
    return dlsym(RTLD_NEXT, function);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    int (*real)(int, const char *, int, const char *) =
        (int (*)(int, const char *, int, const char *))stop_at_name("renameat");
    return real(from_dir, from, to_dir, to);
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to,
              unsigned int flags)
{
    int (*real)(int, const char *, int, const char *, unsigned int) = (int (*)(
        int, const char *, int, const char *, unsigned int))stop_at_name("renameat2");
    return real(from_dir, from, to_dir, to, flags);
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    int (*real)(int, const char *, int, const char *, int) =
        (int (*)(int, const char *, int, const char *, int))stop_at_name("linkat");
    return real(from_dir, from, to_dir, to, flags);
}

int unlinkat(int dir, const char *name, int flags)
{
    int (*real)(int, const char *, int) =
        (int (*)(int, const char *, int))stop_at_name("unlinkat");
    return real(dir, name, flags);
}
