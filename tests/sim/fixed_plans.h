/* SPDX-License-Identifier: Apache-2.0 */
/* Plans that were written, not drawn: what once went wrong. */
#ifndef GPUFL_TESTS_SIM_FIXED_PLANS_H
#define GPUFL_TESTS_SIM_FIXED_PLANS_H

#include "tests/sim/plan.h"

/** \return the name of plan \p index, and the plan itself; NULL behind the last. */
const char *fixed_plan(unsigned index, struct plan *plan);

#endif
