/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel tells which lock a thread waits for, and where the loader's are. */
#include "collector-lib/exit_bound.h"

#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collector-lib/core/clock.h"
#include "collector-lib/core/fork_guard.h"
#include "collector-lib/core/library_log.h"
#include "collector-lib/core/own_fd.h"
#include "collector-lib/core/thread.h"
#include "collector-lib/job/job_tasks.h"

#define ROUND_MS  50
#define FLUSH_NS  1000000000
#define NS_PER_MS 1000000

static struct {
    uint64_t ms;
    char thread[TASK_NAME_BYTES]; /* that exits … */
    int status;                   /* … with it */
} leaving;

struct loader_range {
    uintptr_t from, to;
};

static int find_loader(struct dl_phdr_info *object, size_t size, void *arg)
{
    struct loader_range *loader = arg;
    (void)size;
    if (!object->dlpi_addr || object->dlpi_addr != getauxval(AT_BASE)) {
        return 0;
    }
    loader->from = object->dlpi_addr;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        uintptr_t end = object->dlpi_addr + part->p_vaddr + part->p_memsz;
        if (part->p_type == PT_LOAD && end > loader->to) {
            loader->to = end;
        }
    }
    return 1;
}

static bool waits_for(const struct loader_range *loader)
{
    char path[64];
    char text[64];
    struct own_fd file;
    long call;
    unsigned long lock;
    snprintf(path, sizeof path, "/proc/self/task/%s/syscall", leaving.thread);
    if (!own_fd_take_briefly(&file, open(path, O_RDONLY | O_CLOEXEC))) {
        return false;
    }
    ssize_t len = read(file.fd, text, sizeof text - 1);
    own_fd_close(&file);
    text[len > 0 ? len : 0] = '\0';
    return sscanf(text, "%ld 0x%lx", &call, &lock) == 2 && call == SYS_futex &&
           lock >= loader->from && lock < loader->to;
}

static void *flush_streams(void *arg)
{
    fflush(NULL);
    return arg;
}

/* Another thread of the job may hold the lock of a stream. */
static void leave_anyway(void)
{
    pthread_t thread;
    library_log(GPUFL_LOG_ERROR,
                "exit() has given up: the GPU driver's library has not been loaded for "
                "%" PRIu64 " ms more (destructors of shared objects do not run)",
                leaving.ms);
    if (thread_start(&thread, THREAD_LAST, flush_streams, NULL) == 0) {
        thread_join_by(thread, clock_mono_ns() + FLUSH_NS);
    }
    _exit(leaving.status);
}

static void *watch_exit(void *arg)
{
    const struct timespec round = {.tv_nsec = ROUND_MS * NS_PER_MS};
    struct loader_range loader = {0};
    uint64_t waited_ms = 0;
    dl_iterate_phdr(find_loader, &loader);
    while (loader.to && fork_guard_loads()) {
        waited_ms = waits_for(&loader) ? waited_ms + ROUND_MS : 0;
        if (waited_ms >= leaving.ms) {
            leave_anyway();
        }
        nanosleep(&round, NULL);
    }
    return arg;
}

static void note_status(int status, void *arg)
{
    pthread_t thread;
    (void)arg;
    leaving.status = status;
    job_tasks_name_this(leaving.thread);
    if (fork_guard_loads() && thread_start(&thread, THREAD_LAST, watch_exit, NULL) == 0) {
        pthread_detach(thread);
    }
}

/* The handler that is registered now is the next one that is called. */
void exit_bound(uint64_t ms)
{
    if (fork_guard_loads() && !leaving.ms) {
        leaving.ms = ms;
        on_exit(note_status, NULL);
    }
}
