/* SPDX-License-Identifier: Apache-2.0 */
/* Judges a world that has settled: each complete line that a job wrote is stored once and
 * in order, or what is missing is known to be. */
#ifndef GPUFL_TESTS_SIM_ORACLE_H
#define GPUFL_TESTS_SIM_ORACLE_H

#include "tests/sim/world.h"

/** In worlds that say so: what has to be done when the last step is. */
void oracle_judge_time(struct world *world);
/** What has to be done when an agent exits with 0: all is stored. */
void oracle_judge_exit(struct world *world);
void oracle_judge(struct world *world);

#endif
