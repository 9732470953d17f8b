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
/** Of one stack; outer frames beyond are left out. */
#define STACK_NAMES_TEXT_BYTES 8192u

/** Zero-initialise; release with stack_names_fini. A library that was unloaded, and
 * another that took its place, keep the first one's names. */
struct stack_names {
    struct frame *slot;
    size_t count;
    uint32_t learnt; /* stacks */
};

void stack_names_fini(struct stack_names *names);

/** Names what stacks have come since the last call: each library's symbols are read once
 * for all of them. */
void stack_names_learn(struct stack_names *names);

/** Appends the stack \p id as `caller|its caller|…`, from the caller of
 * CUDA outwards. */
void stack_names_text(const struct stack_names *names, uint32_t id, struct text *out);

#endif
