/* SPDX-License-Identifier: Apache-2.0 */
/* A job whose last thread is one of its own, or of a library. Usage: last_thread LOG_DIR
 * HOW [LIBRARY]:
 *
 *  - ends: a thread ends the session that main has begun, and itself
 *  - loads: a thread that blocks all signals loads LIBRARY, begins a session, and ends
 *  - two: main begins a session of the library that is linked in, and one of LIBRARY
 *
 * and main leaves. Each of three handlers of exit() prints its thread, and how many
 * signals that blocks; the last one prints "end". */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <gpufl/gpufl.h>

static struct gpufl_init_options options = GPUFL_INIT_OPTIONS_DEFAULT;
static const char *library;

static void say_thread(void)
{
    const struct timespec rounds = {.tv_nsec = 300000000}; /* of who watches */
    sigset_t mask;
    int blocked = 0;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    for (int signal = 1; signal <= SIGRTMAX; signal++) {
        blocked += sigismember(&mask, signal) == 1;
    }
    printf("%d %d\n", (int)gettid(), blocked);
    if (library) {
        nanosleep(&rounds, NULL);
    }
}

static void say_end(void)
{
    puts("end");
}

static void begin_of_library(void)
{
    __typeof__(gpufl_init) *init;
    void *loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    void *at = loaded ? dlsym(loaded, "gpufl_init") : NULL;
    memcpy(&init, &at, sizeof init);
    if (!init || init(&options) != GPUFL_OK) {
        abort();
    }
}

#ifdef LINKED
static void wait_for_main(void)
{
    char stat[64] = "";
    while (!strstr(stat, ") Z")) {
        FILE *file = fopen("/proc/self/stat", "r"); /* its state is main's */
        if (!file || !fgets(stat, sizeof stat, file)) {
            abort();
        }
        fclose(file);
    }
}

static void *end(void *arg)
{
    wait_for_main();
    gpufl_shutdown();
    return arg;
}

static void *rest(void *arg)
{
    wait_for_main();
    return arg;
}

static void *(*begin(const char *how))(void *)
{
    if (gpufl_init(&options) != GPUFL_OK) {
        abort();
    }
    if (strcmp(how, "two") == 0) {
        begin_of_library();
        return rest;
    }
    return end;
}
#else
static void *load(void *arg)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    begin_of_library();
    return arg;
}

static void *(*begin(const char *how))(void *)
{
    (void)how;
    return load;
}
#endif

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc < 3) {
        return 2;
    }
    options.log_path = argv[1];
    options.backend = GPUFL_BACKEND_NONE;
    library = argc > 3 ? argv[3] : NULL;
    atexit(say_end);
    for (int i = 0; i < 3; i++) {
        atexit(say_thread);
    }
    pthread_create(&thread, NULL, begin(argv[2]), NULL);
    pthread_exit(NULL);
}
