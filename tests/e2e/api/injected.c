/* SPDX-License-Identifier: Apache-2.0 */
/* Records itself with libgpufl.so, and uses CUDA, by the fake libcupti.
 * Usage: injected LOG_DIR [before|beside|asks]; prints the session's id before CUDA is
 * initialised and behind that. With "beside", another thread initialises it while the
 * session begins; with "before", a kernel was launched before; with
 * "asks", another thread asks for the session all the while, and there is no other. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <gpufl/gpufl.h>

static void (*initialize)(void);
static void (*launch)(const char *symbol, int grid);

static int find_cuda(void)
{
    void *cuda = dlopen("libcupti.so.13", RTLD_NOW | RTLD_GLOBAL);
    void *at[] = {cuda ? dlsym(cuda, "fake_init") : NULL,
                  cuda ? dlsym(cuda, "fake_launch") : NULL};
    memcpy(&initialize, &at[0], sizeof initialize);
    memcpy(&launch, &at[1], sizeof launch);
    return at[0] && at[1];
}

static void print_id(void)
{
    char id[40];
    gpufl_session_id(id);
    puts(id);
}

static void *initialize_beside(void *arg)
{
    initialize();
    return arg;
}

static void *ask_for_session(void *arg)
{
    char id[40];
    for (;;) {
        gpufl_session_id(id);
    }
    return arg;
}

int main(int argc, char **argv)
{
    struct gpufl_init_options options = GPUFL_INIT_OPTIONS_DEFAULT;
    pthread_t thread;
    int beside = argc > 2 && strcmp(argv[2], "beside") == 0;
    if (argc < 2 || !find_cuda() ||
        (beside && pthread_create(&thread, NULL, initialize_beside, NULL) != 0)) {
        return 3;
    }
    if (argc > 2 && strcmp(argv[2], "asks") == 0) {
        pthread_create(&thread, NULL, ask_for_session, NULL);
        initialize();
        print_id();
        return 0;
    }
    if (argc > 2 && strcmp(argv[2], "before") == 0) {
        initialize();
        launch("_Z5firstPf", 4);
    }
    options.log_path = argv[1];
    if (gpufl_init(&options) != GPUFL_OK) {
        return 4;
    }
    print_id();
    GFL_SCOPE("job")
    {
        initialize();
        print_id();
        launch("_Z5firstPf", 4);
    }
    if (beside) {
        pthread_join(thread, NULL);
    }
    gpufl_shutdown();
    return 0;
}
