/* SPDX-License-Identifier: Apache-2.0 */
/* Loads libgpufl-transfer.so, if it is of the same version. */
#include "cli/transfer_module.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/installed.h"

#define MODULE "libgpufl-transfer.so"

static const struct transfer_module *transfer_module_load(const char *path, char why[512])
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(why, 512,
                 "%.300s (install libcurl, json-c, zstd and zlib, or run this where they "
                 "are)",
                 dlerror());
        return NULL;
    }
    const struct transfer_module *found = dlsym(library, "gpufl_transfer_module");
    if (!found || strcmp(found->version, TRANSFER_MODULE_VERSION) != 0) {
        snprintf(why, 512,
                 "%.200s: belongs to gpufl %.60s, this program is gpufl "
                 "%s (install all of gpufl in the same version)",
                 path, found ? found->version : "of an earlier build",
                 TRANSFER_MODULE_VERSION);
        return NULL;
    }
    return found;
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
    const struct transfer_module *found = transfer_module_load(path, why);
    if (found) {
        *out = *found;
    }
    return found != NULL;
}
