/* SPDX-License-Identifier: Apache-2.0 */
/* What tells this process from all others that ever ran, also from one with its pid in
 * another container or after it. */
#ifndef GPUFL_BASE_PROCESS_IDENTITY_H
#define GPUFL_BASE_PROCESS_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/boot_id.h"

struct process_identity {
    int64_t pid;
    char boot_id[BOOT_ID_TEXT]; /**< "" = unknown */
    uint64_t pid_namespace;     /**< its inode, 0 = unknown */
    uint64_t start_ticks;       /**< of the process since boot, 0 = unknown */
};

enum process_state {
    PROCESS_GONE,
    PROCESS_RUNS,
    PROCESS_UNKNOWN, /**< of another boot or pid namespace, or /proc hides it */
};

/** Tells whether that process still runs. One that is dead and not waited for does not.
 */
enum process_state process_identity_probe(const struct process_identity *of);

/** Reads that of the calling process. What /proc does not tell is unknown. */
void process_identity_read(struct process_identity *out);

/** True when both are known to be the same process. */
bool process_identity_same(const struct process_identity *a,
                           const struct process_identity *b);

#endif
