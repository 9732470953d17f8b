/* SPDX-License-Identifier: Apache-2.0 */
/* Loads libgpufl-transfer.so and finds its functions. */
#include "cli/transfer_module.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/installed.h"

#define MODULE "libgpufl-transfer.so"

static bool find_function(void *library, const char *name, void *into)
{
    void *at = dlsym(library, name);
    memcpy(into, &at, sizeof at); /* ISO C has no cast from object to function */
    return at != NULL;
}

bool transfer_module_open(struct transfer_module *out, char why[512])
{
    char path[PATH_MAX];
    if (!installed_find(MODULE, path)) {
        snprintf(why, 512,
                 MODULE ": not found " INSTALLED_PLACES " (install all of gpufl, "
                        "or run this where it is)");
        return false;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library || !find_function(library, "gpufl_transfer_verb", &out->run_verb) ||
        !find_function(library, "gpufl_transfer_upload", &out->upload_logs) ||
        !find_function(library, "gpufl_transfer_check", &out->check_upload)) {
        snprintf(why, 512,
                 "%.300s (install libcurl, json-c, zstd and zlib, or run this where they "
                 "are)",
                 dlerror());
        return false;
    }
    return true;
}
