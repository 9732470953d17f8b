/* SPDX-License-Identifier: Apache-2.0 */
/* The words in which fixed_plans.c tells its plans. */
#ifndef GPUFL_TESTS_SIM_FIXED_WORDS_H
#define GPUFL_TESTS_SIM_FIXED_WORDS_H

#include "tests/sim/plan.h"

#define FIXED_STEPS_MAX 24
#define STEP(kind, a, b)                                                                 \
    {                                                                                    \
        STEP_##kind, 0, (a), (b), 0                                                      \
    }
#define LONG_LINES STEP(WRITE, 0, 35) /* 36, or fewer */
#define BY(who, kind, a, b)                                                              \
    {                                                                                    \
        STEP_##kind, (who), (a), (b), 0                                                  \
    }
#define BACKLOG(who) BY(who, WRITE, 0, 42), BY(who, WRITE, 1, 42), BY(who, WRITE, 2, 42)
#define WAIT(ms)     STEP(WAIT, ms, 8)
#define BEGIN        STEP(BEGIN_JOB, 0, 0)
#define WRITE(n)     STEP(WRITE, 0, 7 * (n)) /* 1 + 7 n lines */
#define END          STEP(END_JOB, 0, 0)

/* A part is written, and neither the rest nor a cut is possible. */
#define FAILING_WRITE STEP(PAUSE_JOB, WRITE_AT, 7 * 30000), WRITE(3)
#define WRITE_AT      18

/* Something in front of the origin answers with one status, by its place in gateway.c. */
#define GATEWAY(status)             GATEWAY_IN(status, 89)
#define GATEWAY_IN(status, percent) STEP(MOODY, 3 * (3 * (status) + 2) + 1, percent)

#define PAUSE_AT 31 /* which call of a write is the second rename of a rotation */

#define PLAIN                   PLAIN_OF(1500, 10)
#define PLAIN_OF(rotate, lines) OF_JOBS(1, rotate, lines)
#define OF_JOBS(jobs, rotate, lines)                                                     \
    .jobs_max = (jobs), .rotate_bytes = (rotate), .batch_lines = (lines),                \
    .journal_bytes = 512u << 10, .flush_ms = 500, .settled_ms = 1000

#endif
