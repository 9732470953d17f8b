/* SPDX-License-Identifier: Apache-2.0 */
/* Runs plans, and removes from a plan that fails what it fails without. */
#ifndef GPUFL_TESTS_SIM_SHRINK_H
#define GPUFL_TESTS_SIM_SHRINK_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/sim/history.h"
#include "tests/sim/plan.h"

/** How a world ended. */
struct outcome {
    const char *kind; /**< of the failure; NULL = there is none */
    char detail[1000];
    uint64_t hash; /**< of its history, if that was kept */
};

void shrink_run(const struct plan *plan, enum history_use use, struct outcome *out);

/** Makes \p plan, which fails with \p kind, as short as it can. \return how many worlds
 * that took. */
unsigned shrink_plan(struct plan *plan, const char *kind);

#endif
