/* SPDX-License-Identifier: Apache-2.0 */
/* Uses the demangler of the C++ runtime, looked up at run time: a program with C++
 * kernels has it, and a C program need not link it. */
#include "collector-lib/trace/demangle.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "collector-lib/core/fork_guard.h"

typedef char *(*demangler)(const char *, char *, size_t *, int *);

static void *look_up(void)
{
    void *at = dlsym(RTLD_DEFAULT, "__cxa_demangle");
    if (!at) {
        void *library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
        at = library ? dlsym(library, "__cxa_demangle") : NULL;
    }
    dlerror();
    dlerror(); /* frees what the thread has of what is missing: it is lost in a fork */
    return at;
}

/* Names stay as they are while a driver hangs that is being loaded. */
static demangler find_demangler(void)
{
    static _Atomic demangler found; /* two of our threads may look it up at once */
    demangler known = atomic_load(&found);
    void *at = NULL;
    if (!known && fork_guard_load_soon()) {
        at = look_up();
        fork_guard_loaded();
    }
    if (at) {
        memcpy(&known, &at, sizeof known);
        atomic_store(&found, known);
    }
    return known;
}

char *demangle(const char *symbol)
{
    int status = -1;
    demangler run = strncmp(symbol, "_Z", 2) == 0 ? find_demangler() : NULL;
    char *text = run ? run(symbol, NULL, NULL, &status) : NULL;
    if (text && status == 0) {
        return text;
    }
    free(text);
    return strdup(symbol);
}
