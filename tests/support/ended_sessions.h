/* SPDX-License-Identifier: Apache-2.0 */
/* Many sessions that are over, and what an engine on a rig made of them. */
#ifndef GPUFL_TESTS_ENDED_SESSIONS_H
#define GPUFL_TESTS_ENDED_SESSIONS_H

#include <stdint.h>

#include "tests/support/rig.h"
#include "upload/core/registry.h"

/** Id of session number \p n. */
void ended_id(unsigned n, char id[40]);

/** Makes \p count sessions of one line each. */
void ended_make(const char *root, unsigned first, unsigned count);

/** The rig's root as the engine knows it. */
struct root *ended_root(const struct rig *rig);

/** How many requests of that kind were answered with 200. */
unsigned ended_requests(const struct rig *rig, enum transport_kind kind);

/** What the progress files say. */
struct ended_told {
    unsigned lines;
    uint64_t offset; /**< the sum */
};

struct ended_told ended_told_of(const struct rig *rig);

#endif
