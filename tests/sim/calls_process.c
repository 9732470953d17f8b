/* SPDX-License-Identifier: Apache-2.0 */
/* Calls about processes, clocks, randomness and memory. */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "tests/sim/calls.h"
#include "tests/sim/kernel.h"

#define LARGE_TEXT (64 << 10) /* no tree of a smaller one is worth counting */

/* Locks as /proc/locks shows them: of this host alone. */
static void write_locks(FILE *out)
{
    for (int i = 0; i < kernel.fd_end; i++) {
        const struct kernel_open *open = kernel.fd[i];
        if (open && open->flock &&
            kernel.process[open->pid].host == kernel_self()->host) {
            fprintf(out, "%d: FLOCK  ADVISORY  %s %d 00:%02x:%u 0 EOF\n", i,
                    open->flock == LOCK_EX ? "WRITE" : "READ", open->pid,
                    (unsigned)open->inode->device, open->inode->number);
        }
    }
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
    int pid = 0;
    (void)mode;
    bool locks = strcmp(path, "/proc/locks") == 0;
    if (!kernel_may() || (!locks && (sscanf(path, "/proc/%d/status", &pid) != 1 ||
                                     !kernel_is_alive(pid)))) {
        errno = ENOENT;
        return NULL;
    }
    FILE *file = fmemopen(NULL, 65536, "w+");
    if (locks) {
        write_locks(file);
    } else {
        unsigned uid = kernel.process[pid].uid;
        fprintf(file, "Uid: %u %u %u %u\n", uid, uid, uid, uid);
    }
    fflush(file);
    rewind(file);
    return file;
}

static void put_digits(char *at, unsigned count, unsigned number)
{
    for (; count > 0; number /= 10) {
        at[--count] = (char)('0' + number % 10);
    }
}

/* Asked for at each look at a session. */
void __wrap_boot_id_get(char out[BOOT_ID_TEXT])
{
    static const char text[] = "00000000-0000-4000-8000-000000000000";
    memcpy(out, text, sizeof text);
    put_digits(out, 8, kernel.boots);
    put_digits(out + 9, 4, kernel_self()->host);
}

int __wrap_kill(pid_t pid, int signal)
{
    (void)signal;
    bool is = kernel_is_alive(pid) && kernel.process[pid].host == kernel_self()->host;
    return is ? 0 : kernel_refuse(ESRCH);
}

pid_t __wrap_getpid(void)
{
    return kernel.self;
}

uid_t __wrap_geteuid(void)
{
    return kernel_self()->uid;
}

ssize_t __wrap_getrandom(void *buf, size_t len, unsigned flags)
{
    (void)flags;
    for (size_t i = 0; i < len; i++) {
        ((unsigned char *)buf)[i] = (unsigned char)kernel_random();
    }
    return (ssize_t)len;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *out)
{
    int64_t ms = id == CLOCK_REALTIME ? kernel_wall_ms()
                                      : (int64_t)(kernel.now_ms - kernel.boot_ms);
    *out = (struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    return 0;
}

time_t __wrap_time(time_t *out)
{
    time_t now = (time_t)(kernel_wall_ms() / 1000);
    if (out) {
        *out = now;
    }
    return now;
}

/* Nothing else that the product reads takes many times as much memory as it is long. */
struct json_object *__wrap_json_tokener_parse_ex(struct json_tokener *tokener,
                                                 const char *text, int len)
{
    if (len < LARGE_TEXT) {
        return __real_json_tokener_parse_ex(tokener, text, len);
    }
    size_t before = mallinfo2().uordblks;
    struct json_object *tree = __real_json_tokener_parse_ex(tokener, text, len);
    size_t took = mallinfo2().uordblks - before;
    kernel.tree_bytes = took > kernel.tree_bytes ? took : kernel.tree_bytes;
    return tree;
}
