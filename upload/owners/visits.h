/* SPDX-License-Identifier: Apache-2.0 */
/* Which directory is inspected next. The owners of their directories take turns, and one
 * whose directories hold very many names waits as long as listing these has cost: what it
 * does there delays nobody else. */
#ifndef GPUFL_UPLOAD_OWNERS_VISITS_H
#define GPUFL_UPLOAD_OWNERS_VISITS_H

#include <stdbool.h>
#include <stdint.h>

/** A directory with more names than that is listed in steps of as many. */
#define VISITS_STEP_NAMES 1024u
/** So many names of such directories a second are listed of one owner, in the long run.
 */
#define VISITS_NAMES_PER_S 20000u
/** With more owners than that at once, some share a turn. As many as core/lanes.h has. */
#define VISITS_MAX 4096u

/** A directory that is to be inspected. */
struct visits_node {
    struct visits_node *next;
    unsigned names; /**< in it, as far as is known */
    bool begun;     /**< it is listed in part */
    bool known;     /**< it was listed as a whole */
};

struct visits_list {
    struct visits_node *first;
    struct visits_node **last;
};

/** What is to be inspected of one owner. */
struct visits_owner {
    uint32_t owner;
    bool long_first; /**< which of the two lists goes first alternates */
    struct visits_list brief;
    struct visits_list lengthy; /**< with many names */
    uint64_t ready_ms;          /**< none of these is begun before */
};

/** All zero when empty. */
struct visit_queue {
    struct visits_owner of[VISITS_MAX]; /**< the first `count` are in use */
    unsigned count;
    unsigned next; /**< whose turn it is */
    bool ends;     /**< it serves a run that ends: no owner waits before each directory
                      was listed once */
};

/** Adds \p node behind what is to be inspected of \p owner; one that is begun goes
 * before the others. */
void visits_push(struct visit_queue *visits, uint32_t owner, struct visits_node *node,
                 uint64_t now_ms);

/** Takes out the one whose turn it is. \return NULL if there is none now. */
struct visits_node *visits_take(struct visit_queue *visits, uint64_t now_ms);

/** \p names of a directory of \p owner were listed, which had more than one step. */
void visits_charge(struct visit_queue *visits, uint32_t owner, unsigned names,
                   uint64_t now_ms);

/** \return when visits_take returns one, if nothing is added; UINT64_MAX = never. */
uint64_t visits_ready_ms(const struct visit_queue *visits);

/** \return true if it was not inspected yet, or has not many names. The others are
 * inspected again and again while somebody makes names in them. */
bool visits_is_new(const struct visits_node *node);

/** \return true if such a one is to be inspected. */
bool visits_any_new(const struct visit_queue *visits);

/** Takes out all that \p keeps does not keep. */
void visits_filter(struct visit_queue *visits,
                   bool (*keeps)(void *arg, struct visits_node *node), void *arg);

#endif
