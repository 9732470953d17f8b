/* SPDX-License-Identifier: Apache-2.0 */
/* Opens libgpufl-cupti.so and checks its version. */
#include "collector-lib/trace/tracer_load.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define MODULE "libgpufl-cupti.so"

/* Looks in the folder of the library or program that contains this code, in gpufl/
 * below it, then where the loader looks. So an installed module is found without
 * LD_LIBRARY_PATH. */
static void *open_module(char *why, size_t size)
{
    static const char *const place[] = {"", "gpufl/"};
    Dl_info self;
    char path[PATH_MAX];
    void *module = NULL;
    bool known = dladdr((void *)tracer_load, &self) && strrchr(self.dli_fname, '/');
    for (size_t i = 0; known && !module && i < sizeof place / sizeof place[0]; i++) {
        int folder = (int)(strrchr(self.dli_fname, '/') - self.dli_fname);
        snprintf(path, sizeof path, "%.*s/%s" MODULE, folder, self.dli_fname, place[i]);
        module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    if (!module) {
        module = dlopen(MODULE, RTLD_NOW | RTLD_LOCAL);
    }
    if (!module) {
        const char *reason = dlerror();
        snprintf(why, size,
                 "%s (install " MODULE " beside libgpufl.so, or build gpufl where the "
                 "CUDA toolkit has cupti.h)",
                 reason ? reason : MODULE " cannot be opened");
    }
    return module;
}

const struct tracer *tracer_load(char *why, size_t size)
{
    void *module = open_module(why, size);
    if (!module) {
        return NULL;
    }
    const struct tracer *(*get)(void) = NULL;
    void *at = dlsym(module, TRACER_SYMBOL);
    memcpy(&get, &at,
           sizeof at); /* POSIX guarantees that a pointer from dlsym can be one */
    const struct tracer *tracer = get ? get() : NULL;
    if (!tracer || tracer->abi != TRACER_ABI) {
        snprintf(why, size,
                 MODULE " does not match this libgpufl (install both from the same "
                        "package)");
        return NULL;
    }
    return tracer;
}
