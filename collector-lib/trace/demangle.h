/* SPDX-License-Identifier: Apache-2.0 */
/* C++ symbols as they are spelled in the source. */
#ifndef GPUFL_COLLECTOR_TRACE_DEMANGLE_H
#define GPUFL_COLLECTOR_TRACE_DEMANGLE_H

/** A malloc'd copy of \p symbol, demangled if it is mangled and the C++ runtime is
 * available. NULL without memory. */
char *demangle(const char *symbol);

#endif
