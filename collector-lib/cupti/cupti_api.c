/* SPDX-License-Identifier: Apache-2.0 */
/* Opens libcupti and finds its functions. */
#include "collector-lib/cupti/cupti_api.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* CUDA 12.0, the first whose records start like those below. */
#define OLDEST_VERSION 18u

struct cupti_api cupti;

static struct {
    bool loaded;
    _Atomic CUptiResult lost; /* by what */
    _Atomic(void *) driver;   /* libcuda.so.1 */
    _Atomic(void *) count;    /* its cuDeviceGetCount */
} library;

static const struct {
    const char *name;
    size_t slot;
    bool required;
} functions[] = {
#define SLOT(name)     {"cupti" #name, offsetof(struct cupti_api, name), true},
#define OPTIONAL(name) {"cupti" #name, offsetof(struct cupti_api, name), false},
    CUPTI_REQUIRED(SLOT) CUPTI_OPTIONAL(OPTIONAL)};

/* A framework may bring its own libcupti, so one that is already loaded comes first. */
static void *open_library(void)
{
    static const char *const soname[] = {"libcupti.so.13", "libcupti.so.12",
                                         "libcupti.so"};
    static const char *const folder[] = {"lib64", "extras/CUPTI/lib64"};
    void *found = NULL;
    for (size_t i = 0; i < 3 && !found; i++) {
        found = dlopen(soname[i], RTLD_NOW | RTLD_NOLOAD);
    }
    for (size_t i = 0; i < 3 && !found; i++) {
        found = dlopen(soname[i], RTLD_NOW | RTLD_GLOBAL);
    }
    const char *home = getenv("CUDA_HOME");
    for (size_t i = 0; i < 6 && !found; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s/%s", home && *home ? home : "/usr/local/cuda",
                 folder[i % 2], soname[i / 2]);
        found = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    }
    return found;
}

static bool find_functions(void *handle, char *why, size_t size)
{
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *at = dlsym(handle, functions[i].name);
        if (!at && functions[i].required) {
            snprintf(why, size, "libcupti lacks %s (CUDA 12 or later is needed)",
                     functions[i].name);
            return false;
        }
        memcpy((char *)&cupti + functions[i].slot, &at, sizeof at);
    }
    return true;
}

void cupti_api_lose(CUptiResult result)
{
    atomic_store(&library.lost, result);
}

bool cupti_api_lost(void)
{
    return atomic_load(&library.lost) != CUPTI_SUCCESS;
}

bool cupti_api_load(char *why, size_t size)
{
    if (cupti_api_lost()) {
        snprintf(why, size,
                 "CUPTI failed to end PC sampling in an earlier session of this process "
                 "(%s) and cannot be used again (restart the process; sample a GPU in "
                 "one process at a time)",
                 cupti_api_error(atomic_load(&library.lost)));
        return false;
    }
    if (library.loaded) {
        return true;
    }
    void *opened = open_library();
    uint32_t version = 0;
    if (!opened) {
        snprintf(why, size,
                 "libcupti.so not found (install the CUDA toolkit, or set CUDA_HOME or "
                 "LD_LIBRARY_PATH)");
        return false;
    }
    if (!find_functions(opened, why, size)) {
        return false;
    }
    CUptiResult told = cupti.GetVersion(&version);
    if (told != CUPTI_SUCCESS) {
        return cupti_api_refused(why, size, "its version", told);
    }
    if (version < OLDEST_VERSION) {
        snprintf(why, size, "libcupti version %u is too old (CUDA 12 or later is needed)",
                 version);
        return false;
    }
    library.loaded = true;
    return true;
}

const char *cupti_api_error(CUptiResult result)
{
    const char *text = NULL;
    if (cupti.GetResultString(result, &text) != CUPTI_SUCCESS || !text) {
        return "an unknown error";
    }
    return text;
}

bool cupti_api_refused(char *why, size_t size, const char *what, CUptiResult result)
{
    snprintf(why, size, "CUPTI refused %s: %s%s", what, cupti_api_error(result),
             result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES
                 ? " (let all users profile by NVreg_RestrictProfilingToAdminUsers=0, or "
                   "run as root)"
                 : "");
    return false;
}

void *cupti_driver_symbol(const char *name)
{
    void *at = atomic_load(&library.driver);
    if (!at) {
        at = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
        atomic_store(&library.driver, at);
    }
    return dlsym(at ? at : RTLD_DEFAULT, name);
}

void cupti_driver_look_up(void)
{
    atomic_store(&library.count, cupti_driver_symbol("cuDeviceGetCount"));
}

bool cupti_driver_is_over(void)
{
    CUresult (*count)(int *);
    int devices;
    if (!atomic_load(&library.count)) {
        cupti_driver_look_up();
    }
    void *at = atomic_load(&library.count);
    memcpy(&count, &at, sizeof count);
    return count && count(&devices) == CUDA_ERROR_DEINITIALIZED;
}

const char *cupti_driver_file(const char *name)
{
    Dl_info info;
    void *at = cupti_driver_symbol(name);
    return at && dladdr(at, &info) ? info.dli_fname : NULL;
}
