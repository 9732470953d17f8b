/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the object that contains this code once more, and says that it is to stay. */
#include "collector-lib/keep_loaded.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>

/* Of that object; a static program has none. */
extern ElfW(Dyn) _DYNAMIC[] __attribute__((weak, visibility("hidden")));

/* A program, or an object that was linked with -z nodelete. */
static bool stays_anyway(void)
{
    for (const ElfW(Dyn) *at = _DYNAMIC; at && at->d_tag != DT_NULL; at++) {
        if (at->d_tag == DT_DEBUG ||
            (at->d_tag == DT_FLAGS_1 && at->d_un.d_val & DF_1_NODELETE)) {
            return true;
        }
    }
    return !_DYNAMIC;
}

void keep_loaded(void)
{
    Dl_info self;
    if (!stays_anyway() && dladdr((void *)keep_loaded, &self)) {
        void *object = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
        if (object) {
            dlclose(object);
        }
        dlerror();
        dlerror(); /* frees what the thread has of a failure */
    }
}
