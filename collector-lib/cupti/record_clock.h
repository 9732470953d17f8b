/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the times of CUPTI's records into CLOCK_MONOTONIC, whatever clock CUPTI uses. */
#ifndef GPUFL_COLLECTOR_CUPTI_RECORD_CLOCK_H
#define GPUFL_COLLECTOR_CUPTI_RECORD_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define RECORD_CLOCK_PAIRS 64

/** Zero-initialise. */
struct record_clock {
    /** Both clocks at one moment each, oldest first. */
    struct clock_pair {
        uint64_t theirs;
        int64_t ours_ns;
        double rate;    /* ns of ours to one of theirs since the pair before */
        bool exchanged; /* their clock was set, or another one came, since then */
    } pairs[RECORD_CLOCK_PAIRS];
    unsigned count;
    int64_t read_ns; /* when theirs was last read, or failed to be */
};

/** \p theirs and \p ours_ns, of CLOCK_MONOTONIC, were read at the same moment, no earlier
 * than those of the call before. */
void record_clock_add(struct record_clock *clock, uint64_t theirs, int64_t ours_ns);

/** Theirs could not be read at \p ours_ns: until it can, the newest pair's clock is taken
 * to go on as it did. */
void record_clock_failed(struct record_clock *clock, int64_t ours_ns);

/** Whether their clock seems to be another one than before, whose rate a further pair
 * would tell. */
bool record_clock_in_doubt(const struct record_clock *clock);

/** When \p theirs was, in ns of CLOCK_MONOTONIC: never later than the last reading, 0 if
 * there is no pair. If their clock was set or exchanged between two pairs, the times of
 * either clock that no other two pairs contain, and that are near, stay between those
 * two, in order; those of a clock whose rate is not known yet may coincide there. */
int64_t record_clock_ns(const struct record_clock *clock, uint64_t theirs);

#endif
