/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and opens the tracing module. */
#ifndef GPUFL_COLLECTOR_TRACE_TRACER_LOAD_H
#define GPUFL_COLLECTOR_TRACE_TRACER_LOAD_H

#include "collector-lib/trace/tracer.h"

/** Opens the module beside this library, or where the loader looks. NULL with one
 * sentence in \p why. The module is never closed: threads of the vendor's library may
 * run in it. */
const struct tracer *tracer_load(char *why, size_t size);

#endif
