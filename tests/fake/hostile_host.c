/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded: a host that refuses or delays what libgpufl asks of it, and nobody else.
 *
 * HOSTILE_HOST=CALL:HOW:FIRST:COUNT,…  the calls FIRST to FIRST + COUNT - 1 of that name
 *      fail with errno HOW (a number), take HOW ms (after a letter s), begin HOW ms later
 *      (l), never return (h), or write half of the bytes (p)
 * HOSTILE_FROM=path  all this once there is such a file
 * HOSTILE_HANG=path  what never returns does so once this file is gone
 * HOSTILE_LOW=path   gets a line for each read or write by a thread of the library under
 *      a number below 400, where files of the job are, and for each file that it opens,
 *      makes, renames or deletes in a directory that has such a number
 * HOSTILE_OPENS=path gets a line for each file that a thread of the library opens, once
 *      there is HOSTILE_FROM
 *
 * CALL: open, write, pwrite, rename, unlink, truncate, sync, lock, stat, thread, close,
 * path (realpath); malloc where FAKE_NO_MEMORY is defined. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum which {
    OPEN,
    WRITE,
    PWRITE,
    RENAME,
    UNLINK,
    TRUNCATE,
    SYNC,
    LOCK,
    STAT,
    THREAD,
    MALLOC,
    CLOSE,
    PATH,
    CALLS
};
static const char *const names[CALLS] = {
    "open", "write", "pwrite", "rename", "unlink", "truncate", "sync",
    "lock", "stat",  "thread", "malloc", "close",  "path"};

#define PLANS_MAX 16
static struct {
    uintptr_t from, to; /* the code of libgpufl, or of the program that it is in */
    struct {
        enum which call;
        char kind;
        long how;
        unsigned first, count;
    } plan[PLANS_MAX];
    int plans;
    _Atomic unsigned done[CALLS];
} host;

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    const char *name = strrchr(info->dlpi_name, '/');
    bool program = !host.to; /* which comes first, and may have the library in it */
    bool library = name && strcmp(name, "/libgpufl.so") == 0;
    if (!program && !library) {
        return 0;
    }
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && part->p_flags & PF_X) {
            host.from = info->dlpi_addr + part->p_vaddr;
            host.to = host.from + part->p_memsz;
        }
    }
    return library;
}

static void add_plan(const char *text)
{
    for (int c = 0; c < CALLS && host.plans < PLANS_MAX; c++) {
        size_t len = strlen(names[c]);
        if (strncmp(text, names[c], len) == 0 && text[len] == ':') {
            text += len + 1;
            char kind = *text >= 'a' ? *text++ : 'e';
            host.plan[host.plans].call = (enum which)c;
            host.plan[host.plans].kind = kind;
            char *rest;
            host.plan[host.plans].how = strtol(text, &rest, 10);
            host.plan[host.plans].first = (unsigned)strtoul(rest + 1, &rest, 10);
            host.plan[host.plans].count = (unsigned)strtoul(rest + 1, &rest, 10);
            host.plans++;
            return;
        }
    }
}

__attribute__((constructor)) static void read_plans(void)
{
    dl_iterate_phdr(look, NULL);
    for (const char *at = getenv("HOSTILE_HOST"); at && *at; at = strchr(at, ',')) {
        at += *at == ',';
        add_plan(at);
    }
}

static void wait_ms(long ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static __thread long late_ms; /* of the call that is under way */

/* The kernel takes its time when it has looked at the descriptor, not before. */
static long after(long result)
{
    int saved = errno;
    if (late_ms) {
        wait_ms(late_ms);
        late_ms = 0;
    }
    errno = saved;
    return result;
}

static bool has_begun(void)
{
    const char *from = getenv("HOSTILE_FROM");
    return !from || access(from, F_OK) == 0;
}

static bool hangs(void)
{
    const char *until = getenv("HOSTILE_HANG");
    return !until || access(until, F_OK) == 0;
}

/* \return the kind of what happens to this call: 'e' = it has failed, 'p' = in part. */
static char befall(enum which call, const void *caller)
{
    if ((uintptr_t)caller < host.from || (uintptr_t)caller >= host.to || !has_begun()) {
        return 0;
    }
    unsigned n = atomic_fetch_add(&host.done[call], 1);
    for (int i = 0; i < host.plans; i++) {
        if (host.plan[i].call != call || n < host.plan[i].first ||
            n - host.plan[i].first >= host.plan[i].count) {
            continue;
        }
        if (host.plan[i].kind == 'e') {
            errno = (int)host.plan[i].how;
        } else if (host.plan[i].kind == 's') {
            late_ms = host.plan[i].how;
        } else if (host.plan[i].kind == 'l') {
            wait_ms(host.plan[i].how);
        }
        while (host.plan[i].kind == 'h' && hangs()) {
            wait_ms(10);
        }
        return host.plan[i].kind;
    }
    return 0;
}

/* Of what threads of the library do, a line in the file that is named by \p variable. */
static void tell(const char *variable, const void *caller, const char *what, int number)
{
    const char *path = getenv(variable);
    char name[16] = "";
    if (!path || (uintptr_t)caller < host.from || (uintptr_t)caller >= host.to ||
        pthread_getname_np(pthread_self(), name, sizeof name) != 0 ||
        strncmp(name, "gpufl", 5) != 0) {
        return;
    }
    int saved = errno;
    FILE *told = fopen(path, "ae");
    if (told) {
        fprintf(told, "%s: %s %d at %#lx\n", name, what, number,
                (unsigned long)((uintptr_t)caller - host.from));
        fclose(told);
    }
    errno = saved;
}

/* Standard error is the job's, and meant. */
static void look_at_number(int fd, const void *caller)
{
    if (fd >= 3 && fd < 400) {
        tell("HOSTILE_LOW", caller, "number", fd);
    }
}

static void look_at_opened(int fd, const char *path, const void *caller)
{
    if (has_begun()) {
        tell("HOSTILE_OPENS", caller, path, fd);
    }
}

#define CALLER __builtin_return_address(0)
/* Looked for once: dlsym(3) takes a lock, for which a thread may wait between its look at
 * a descriptor and what it does with it. */
#define REAL(f)                                                                          \
    ({                                                                                   \
        static _Atomic(void *) found;                                                    \
        void *real = atomic_load_explicit(&found, memory_order_relaxed);                 \
        if (!real) {                                                                     \
            real = dlsym(RTLD_NEXT, #f);                                                 \
            atomic_store_explicit(&found, real, memory_order_relaxed);                   \
        }                                                                                \
        (__typeof__(&f))real;                                                            \
    })

ssize_t read(int fd, void *bytes, size_t size)
{
    look_at_number(fd, CALLER);
    return REAL(read)(fd, bytes, size);
}

ssize_t pread(int fd, void *bytes, size_t size, off_t at)
{
    look_at_number(fd, CALLER);
    return REAL(pread)(fd, bytes, size, at);
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    look_at_number(fd, CALLER);
    char what = fd == 2 ? 0 : befall(WRITE, CALLER);
    return what == 'e'
               ? -1
               : after(REAL(write)(fd, bytes, what == 'p' && size > 1 ? size / 2 : size));
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at)
{
    look_at_number(fd, CALLER);
    return befall(PWRITE, CALLER) == 'e' ? -1 : after(REAL(pwrite)(fd, bytes, size, at));
}

int close(int fd)
{
    return befall(CLOSE, CALLER) == 'e' ? -1 : (int)after(REAL(close)(fd));
}

static mode_t mode_of(int flags, va_list args)
{
    return flags & O_CREAT ? va_arg(args, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = mode_of(flags, args);
    va_end(args);
    int fd = befall(OPEN, CALLER) == 'e' ? -1 : (int)after(REAL(open)(path, flags, mode));
    look_at_opened(fd, path, CALLER);
    return fd;
}

int openat(int dir, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = mode_of(flags, args);
    va_end(args);
    look_at_number(dir, CALLER);
    int fd = befall(OPEN, CALLER) == 'e'
                 ? -1
                 : (int)after(REAL(openat)(dir, path, flags, mode));
    look_at_opened(fd, path, CALLER);
    return fd;
}

FILE *fopen(const char *path, const char *mode)
{
    return befall(OPEN, CALLER) == 'e' ? NULL : REAL(fopen)(path, mode);
}

int socket(int family, int type, int protocol)
{
    int fd = REAL(socket)(family, type, protocol);
    look_at_opened(fd, "a socket", CALLER);
    return fd;
}

int mkdirat(int dir, const char *path, mode_t mode)
{
    look_at_number(dir, CALLER);
    return befall(OPEN, CALLER) == 'e' ? -1 : (int)after(REAL(mkdirat)(dir, path, mode));
}

int renameat2(int from, const char *name, int to, const char *new_name, unsigned flags)
{
    look_at_number(from, CALLER);
    return befall(RENAME, CALLER) == 'e'
               ? -1
               : (int)after(REAL(renameat2)(from, name, to, new_name, flags));
}

int renameat(int from, const char *name, int to, const char *new_name)
{
    look_at_number(from, CALLER);
    return befall(RENAME, CALLER) == 'e'
               ? -1
               : (int)after(REAL(renameat)(from, name, to, new_name));
}

int unlinkat(int dir, const char *path, int flags)
{
    look_at_number(dir, CALLER);
    return befall(UNLINK, CALLER) == 'e' ? -1
                                         : (int)after(REAL(unlinkat)(dir, path, flags));
}

int ftruncate(int fd, off_t size)
{
    return befall(TRUNCATE, CALLER) == 'e' ? -1 : (int)after(REAL(ftruncate)(fd, size));
}

int fdatasync(int fd)
{
    return befall(SYNC, CALLER) == 'e' ? -1 : (int)after(REAL(fdatasync)(fd));
}

int fsync(int fd)
{
    return befall(SYNC, CALLER) == 'e' ? -1 : (int)after(REAL(fsync)(fd));
}

int fstat(int fd, struct stat *st)
{
    return befall(STAT, CALLER) == 'e' ? -1 : (int)after(REAL(fstat)(fd, st));
}

char *realpath(const char *path, char *real)
{
    return befall(PATH, CALLER) == 'e' ? NULL : REAL(realpath)(path, real);
}

/* With descriptors up to 2^31, more arguments than one would be foreign to it. */
int fcntl(int fd, int command, ...)
{
    va_list args;
    va_start(args, command);
    void *argument = va_arg(args, void *);
    va_end(args);
    return befall(LOCK, CALLER) == 'e' ? -1
                                       : (int)after(REAL(fcntl)(fd, command, argument));
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                   void *arg)
{
    return befall(THREAD, CALLER) == 'e' ? errno
                                         : REAL(pthread_create)(thread, attr, run, arg);
}

#ifdef FAKE_NO_MEMORY
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

void *malloc(size_t size)
{
    return befall(MALLOC, CALLER) == 'e' ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return befall(MALLOC, CALLER) == 'e' ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return befall(MALLOC, CALLER) == 'e' ? NULL : __libc_realloc(old, size);
}
#endif
