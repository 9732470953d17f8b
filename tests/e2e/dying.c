/* SPDX-License-Identifier: Apache-2.0 */
/* A job that ends without gpufl_shutdown while a thread records 100,000 events a second.
 * Usage: dying LOG_DIR WAY [LIBGPUFL]; prints the session id, then the time of its end in
 * ns since 1970. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <gpufl/gpufl.h>

#define RECORD_MS       500
#define PAIRS_EACH_MS   50
#define NS_EACH_MS      1000000
#define EXIT_OF_THE_JOB 7

static void *record(void *arg)
{
    struct timespec next;
    (void)arg;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (;;) {
        for (int i = 0; i < PAIRS_EACH_MS; i++) {
            GFL_SCOPE("step")
            {
            }
        }
        next.tv_nsec += NS_EACH_MS;
        if (next.tv_nsec >= 1000 * NS_EACH_MS) {
            next.tv_nsec -= 1000 * NS_EACH_MS;
            next.tv_sec++;
        }
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    return NULL;
}

static void say_id(gpufl_status (*session_id)(char *))
{
    char id[40];
    if (session_id(id) != GPUFL_OK) {
        exit(3);
    }
    puts(id);
}

static void say_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    printf("%lld\n", (long long)t.tv_sec * 1000 * NS_EACH_MS + t.tv_nsec);
    fflush(stdout);
}

static void nap(void)
{
    struct timespec t = {.tv_nsec = (long)RECORD_MS * NS_EACH_MS};
    nanosleep(&t, NULL);
}

static void touch_forbidden_memory(void)
{
    volatile char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    page[0] = 1;
}

/* Grows until the kernel kills; says the time with each step, so that the last is known.
 */
static void eat_memory(void)
{
    const size_t step_bytes = 1 << 20;
    for (;;) {
        char *more = mmap(NULL, step_bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (more == MAP_FAILED) {
            return;
        }
        memset(more, 1, step_bytes);
        say_time();
    }
}

static int end(const char *way)
{
    say_time();
    if (strcmp(way, "kill") == 0) {
        kill(getpid(), SIGKILL);
    } else if (strcmp(way, "term") == 0) {
        kill(getpid(), SIGTERM);
    } else if (strcmp(way, "abort") == 0) {
        abort();
    } else if (strcmp(way, "segfault") == 0) {
        touch_forbidden_memory();
    } else if (strcmp(way, "oom") == 0) {
        eat_memory();
    } else if (strcmp(way, "_exit") == 0) {
        _exit(EXIT_OF_THE_JOB);
    } else if (strcmp(way, "exec") == 0) {
        execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
    } else if (strcmp(way, "return") == 0) {
        return EXIT_OF_THE_JOB;
    }
    return 2;
}

/* A plugin that is unloaded while it records. */
static int unload(const char *logs, const char *library)
{
    struct gpufl_init_options options = GPUFL_INIT_OPTIONS_DEFAULT;
    gpufl_status (*init)(const struct gpufl_init_options *);
    gpufl_status (*session_id)(char *);
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        fprintf(stderr, "%s\n", dlerror());
        return 3;
    }
    *(void **)&init = dlsym(handle, "gpufl_init");
    *(void **)&session_id = dlsym(handle, "gpufl_session_id");
    options.log_path = logs;
    if (init(&options) != GPUFL_OK) {
        return 3;
    }
    say_id(session_id);
    nap();
    dlclose(handle);
    nap();
    say_time();
    return EXIT_OF_THE_JOB;
}

int main(int argc, char **argv)
{
    struct gpufl_init_options options = GPUFL_INIT_OPTIONS_DEFAULT;
    pthread_t thread;
    if (argc == 4) {
        return unload(argv[1], argv[3]);
    }
    options.log_path = argv[1];
    if (argc != 3 || gpufl_init(&options) != GPUFL_OK) {
        return 3;
    }
    say_id(gpufl_session_id);
    if (pthread_create(&thread, NULL, record, NULL) != 0) {
        return 3;
    }
    nap();
    return end(argv[2]);
}
