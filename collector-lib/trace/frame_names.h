/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves return addresses to names of functions. Takes no lock of the loader that a
 * dlclose() of the job may hold while it waits for us. */
#ifndef GPUFL_COLLECTOR_TRACE_FRAME_NAMES_H
#define GPUFL_COLLECTOR_TRACE_FRAME_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct frame {
    uintptr_t pc;
    char *name;   /* demangled, or `library+0x12`; NULL = not yet known */
    bool machine; /* of CUDA or ours, not the caller's */
};

/** Sets the names of the \p count frames that lie in a library or the program. Sorts
 * the frames by address. */
void frame_names_find(struct frame **frame, size_t count);

#endif
