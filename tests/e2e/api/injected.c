/* SPDX-License-Identifier: Apache-2.0 */
/* Records itself with libgpufl.so, and initialises CUDA only then, by the fake libcupti.
 * Usage: injected LOG_DIR; prints the session's id before and behind that. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <gpufl/gpufl.h>

static void print_id(void)
{
    char id[40];
    gpufl_session_id(id);
    puts(id);
}

int main(int argc, char **argv)
{
    struct gpufl_init_options options = GPUFL_INIT_OPTIONS_DEFAULT;
    void *cuda = dlopen("libcupti.so.13", RTLD_NOW | RTLD_GLOBAL);
    void *at = cuda ? dlsym(cuda, "fake_init") : NULL;
    void (*initialize)(void);
    if (argc < 2 || !at) {
        return 3;
    }
    memcpy(&initialize, &at, sizeof initialize);
    options.log_path = argv[1];
    if (gpufl_init(&options) != GPUFL_OK) {
        return 4;
    }
    print_id();
    GFL_SCOPE("job")
    {
        initialize();
        print_id();
    }
    gpufl_shutdown();
    return 0;
}
