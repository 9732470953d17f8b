/* SPDX-License-Identifier: Apache-2.0 */
/* A job whose scopes end in unusual ways, on the GPU behind the fake libcupti. Usage:
 * gpu_scopes LOG_DIR PART; prints the session id first. Options come from the
 * environment. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <gpufl/gpufl.h>

#include "tests/fake/cupti.h"

static struct {
    __typeof__(fake_launch) *launch;
    __typeof__(fake_waits) *waits;
} gpu;

static void find(const char *name, void *into)
{
    void *at = dlsym(RTLD_DEFAULT, name);
    if (!at) {
        fprintf(stderr, "gpu_scopes: no %s\n", name);
        exit(4);
    }
    memcpy(into, &at, sizeof at);
}

static void open_gpu(void)
{
    if (!dlopen("libcupti.so.13", RTLD_NOW | RTLD_GLOBAL)) {
        fprintf(stderr, "gpu_scopes: %s\n", dlerror());
        exit(4);
    }
    find("fake_launch", &gpu.launch);
    find("fake_waits", &gpu.waits);
}

static void rest_ms(long ms)
{
    struct timespec rest = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&rest, NULL);
}

/* Long enough for samples that only an open scope asks for. */
static void waits(void)
{
    GFL_SCOPE("a")
    {
        gpu.waits();
        gpufl_system_stop("never begun");
        rest_ms(600);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*play)(void);
    } parts[] = {
        {"waits", waits},
    };
    struct gpufl_init_options options = GPUFL_INIT_OPTIONS_DEFAULT;
    char id[40];
    options.log_path = argc > 1 ? argv[1] : "";
    open_gpu();
    if (argc < 3 || gpufl_init(&options) != GPUFL_OK) {
        return 3;
    }
    gpufl_session_id(id);
    puts(id);
    fflush(stdout);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (strcmp(argv[2], parts[i].name) == 0) {
            parts[i].play();
        }
    }
    gpufl_shutdown();
    return 7;
}
