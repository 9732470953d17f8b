/* SPDX-License-Identifier: Apache-2.0 */
/* Call stacks as text: the functions' names instead of return addresses. Used by the
 * writer's thread alone. */
#ifndef GPUFL_COLLECTOR_TRACE_STACK_NAMES_H
#define GPUFL_COLLECTOR_TRACE_STACK_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/** Return addresses that get a name. */
#define STACK_NAMES_MAX 65536u
/** Of one stack; further outer frames are left out. */
#define STACK_NAMES_TEXT_BYTES 8192u

/** Zero-initialise; release with stack_names_fini. If a library is unloaded and another
 * is loaded in its place, the names of the first are kept. */
struct stack_names {
    struct frame *slot;
    size_t count;
    uint32_t learnt; /* stacks */
};

void stack_names_fini(struct stack_names *names);

/** Resolves the stacks that are new since the last call; the symbols of each library
 * are read once for all of them. */
void stack_names_learn(struct stack_names *names);

/** Appends the stack \p id as `caller|its caller|…`, beginning with the caller of CUDA.
 * */
void stack_names_text(const struct stack_names *names, uint32_t id, struct text *out);

#endif
