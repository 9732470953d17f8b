/* SPDX-License-Identifier: Apache-2.0 */
/* In which order a long listing looks into directories. It names all of them in rounds.
 * In each one, so many of every owner are looked into, and the rest of those who have
 * more is left to the next one, in which they have 256 times as many: who has few
 * does not wait for those of others, and nothing is kept of those that wait. */
#ifndef GPUFL_UPLOAD_OWNERS_PORTIONS_H
#define GPUFL_UPLOAD_OWNERS_PORTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/shares.h"

/** Directories of one owner in the first round. */
#define PORTIONS_FIRST 4096u
/** There is one round, for all of them. */
#define PORTIONS_ALL UINT64_MAX

/** All zero when empty. */
struct portions {
    struct shares spent; /**< by each owner, in all rounds */
    uint64_t before;     /**< what each owner could spend before this round */
    uint64_t limit;      /**< … and until its end */
    bool left;           /**< something is left to the next round */
};

enum portion {
    PORTION_NOW,
    PORTION_LATER,  /**< in the next round */
    PORTION_SERVED, /**< in a round before */
};

/** Begins the first round, in which so many directories of each owner are looked into. */
void portions_begin(struct portions *portions, uint64_t limit);

/** \return when it is the turn of a directory of \p owner. */
enum portion portions_turn(struct portions *portions, uint32_t owner);

/** Notes what a directory has cost. */
void portions_spend(struct portions *portions, uint32_t owner, uint64_t amount);

/** At the end of a round, begins the next one. \return false if nothing is left. */
bool portions_next(struct portions *portions);

/** \return true if rounds before have served all that \p owner has. */
bool portions_served(const struct portions *portions, uint32_t owner);

/** Frees what is kept. */
void portions_end(struct portions *portions);

#endif
