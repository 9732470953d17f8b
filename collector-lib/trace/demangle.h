/* SPDX-License-Identifier: Apache-2.0 */
/* C++ symbols as their source spells them. */
#ifndef GPUFL_COLLECTOR_TRACE_DEMANGLE_H
#define GPUFL_COLLECTOR_TRACE_DEMANGLE_H

/** A malloc'd copy of \p symbol, demangled where it is a mangled name and the C++ runtime
 * is there; NULL without memory. */
char *demangle(const char *symbol);

#endif
