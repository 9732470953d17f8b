/* SPDX-License-Identifier: Apache-2.0 */
/* CUPTI stamps records with CLOCK_REALTIME, or with what anybody in the process has
 * registered as its clock, which need not count nanoseconds (PyTorch's profiler lends the
 * processor's counter). A clock of our own would remain for profilers that follow. So the
 * two clocks are read together from time to time, and what lies between is interpolated.
 */
#include "collector-lib/cupti/record_clock.h"

#include <string.h>

/* Pairs that are closer would make much of the inexactness of each. */
#define PAIR_INTERVAL_NS 10000000
/* A clock whose rate differs by more is another one, or was set. */
#define ALIKE 0.01
/* Of two readings at most, however close they are. */
#define INEXACT_NS 20000
/* So many lengths of an interval from its ends is still near it if there is no better
 * one: the rate of the clock that came may not be known yet. */
#define NEAR 10
/* So far an interval reaches on the old clock, whose rate is known. */
#define KNOWN 1.1

/* Whether the clock ran at \p rate between the two. */
static bool ran_at(double rate, const struct clock_pair *first,
                   const struct clock_pair *last)
{
    double passed_ns = (double)(last->ours_ns - first->ours_ns);
    double apart_ns = passed_ns - (double)(last->theirs - first->theirs) * rate;
    double most_ns = passed_ns * ALIKE + INEXACT_NS;
    return apart_ns <= most_ns && apart_ns >= -most_ns;
}

/* Whether the clock was exchanged before the pair \p i. If the first two intervals
 * differ, it is the one that does not go as the first pair's clock is taken to: in
 * nanoseconds, or as two intervals did. */
static void judge_pair(struct record_clock *c, unsigned i)
{
    struct clock_pair *now = &c->pairs[i];
    struct clock_pair *before = &c->pairs[i - 1];
    if (now->theirs <= before->theirs) {
        now->exchanged = true;
        return;
    }
    now->rate =
        (double)(now->ours_ns - before->ours_ns) / (double)(now->theirs - before->theirs);
    if (ran_at(before->rate, before, now)) {
        before->exchanged = false;
        c->pairs[0].rate = i == 2 ? before->rate : c->pairs[0].rate;
    } else if (i == 2 && !ran_at(c->pairs[0].rate, &c->pairs[0], before)) {
        before->exchanged = true;
    } else {
        now->exchanged = i > 1 && !before->exchanged;
    }
}

static void append(struct record_clock *c, uint64_t theirs, int64_t ours_ns)
{
    c->pairs[c->count] =
        (struct clock_pair){.theirs = theirs, .ours_ns = ours_ns, .rate = c->count == 0};
    if (c->count > 0) {
        judge_pair(c, c->count);
    }
    c->count++;
}

/* Of the last three pairs, of one clock, the middle one is not needed if they are close.
 */
static bool last_are_close(const struct record_clock *c)
{
    const struct clock_pair *last = &c->pairs[c->count - 1];
    return c->count >= 3 && !last[0].exchanged && !last[-1].exchanged &&
           last[0].ours_ns - last[-2].ours_ns < PAIR_INTERVAL_NS;
}

void record_clock_add(struct record_clock *c, uint64_t theirs, int64_t ours_ns)
{
    if (c->count && ours_ns <= c->pairs[c->count - 1].ours_ns) {
        return;
    }
    if (c->count == RECORD_CLOCK_PAIRS) {
        memmove(c->pairs, c->pairs + 1, sizeof c->pairs - sizeof c->pairs[0]);
        c->count--;
    }
    c->read_ns = ours_ns;
    append(c, theirs, ours_ns);
    if (last_are_close(c)) {
        c->count -= 2;
        append(c, theirs, ours_ns);
    }
}

void record_clock_failed(struct record_clock *c, int64_t ours_ns)
{
    c->read_ns = ours_ns;
}

bool record_clock_in_doubt(const struct record_clock *c)
{
    return c->count >= 2 &&
           (c->pairs[c->count - 1].exchanged ||
            (c->count == 2 && !ran_at(c->pairs[0].rate, &c->pairs[0], &c->pairs[1])));
}

/* ns from \p from to \p to, less than 0 if that is earlier. */
static double distance_ns(uint64_t from, uint64_t to, double rate)
{
    return to >= from ? (double)(to - from) * rate : -(double)(from - to) * rate;
}

static double lesser(double a, double b)
{
    return a < b ? a : b;
}

/* The rate of the clock that the pair \p i is of: not that of the interval before it if
 * the clock was exchanged there, nor, if there is another, if that is short. */
static double rate_at(const struct record_clock *c, unsigned i)
{
    bool other = i > 0 && c->pairs[i].exchanged;
    bool brief = i > 1 && !c->pairs[i - 1].exchanged &&
                 c->pairs[i].ours_ns - c->pairs[i - 1].ours_ns < PAIR_INTERVAL_NS;
    return c->pairs[other || brief ? i - 1 : i].rate;
}

/* Within the interval before the pair \p i, in which the clock was exchanged: on the old
 * one from its beginning, or on the new one to its end. Where they overlap, the clock was
 * set by little, and it is interpolated. \return false if it is more than \p near lengths
 * of the interval away. */
static bool place_between(const struct record_clock *c, unsigned i, uint64_t theirs,
                          int near, int64_t *ns)
{
    const struct clock_pair *first = &c->pairs[i - 1];
    const struct clock_pair *last = &c->pairs[i];
    double length_ns = (double)(last->ours_ns - first->ours_ns);
    double old_rate = rate_at(c, i - 1);
    double new_rate = i + 1 < c->count ? c->pairs[i + 1].rate : old_rate;
    double after_ns = distance_ns(first->theirs, theirs, old_rate);
    double before_ns = distance_ns(theirs, last->theirs, new_rate);
    if (after_ns >= 0 && before_ns >= 0 &&
        distance_ns(first->theirs, last->theirs, old_rate) < 2 * length_ns) {
        *ns = first->ours_ns + (int64_t)distance_ns(first->theirs, theirs, last->rate);
        return true;
    }
    bool old = after_ns >= 0 && (before_ns < 0 || after_ns <= before_ns);
    double from_end_ns = old ? after_ns : before_ns;
    if (from_end_ns < 0 || from_end_ns > (old ? KNOWN : near) * length_ns) {
        return false;
    }
    int64_t within_ns = (int64_t)lesser(from_end_ns, length_ns);
    *ns = old ? first->ours_ns + within_ns : last->ours_ns - within_ns;
    return true;
}

/* Before the first pair or after the last one, whichever is nearer. */
static int64_t place_outside(const struct record_clock *c, uint64_t theirs)
{
    const struct clock_pair *first = &c->pairs[0];
    const struct clock_pair *last = &c->pairs[c->count - 1];
    bool first_goes_on = c->count > 1 && !c->pairs[1].exchanged;
    double early_ns =
        distance_ns(theirs, first->theirs, first_goes_on ? first[1].rate : first->rate);
    double late_ns = distance_ns(last->theirs, theirs, rate_at(c, c->count - 1));
    double longest_ns = (double)(c->read_ns - last->ours_ns);
    if (early_ns >= 0 && (late_ns < 0 || early_ns < late_ns)) {
        return first->ours_ns - (int64_t)lesser(early_ns, (double)(INT64_MAX / 2));
    }
    return late_ns >= 0 ? last->ours_ns + (int64_t)lesser(late_ns, longest_ns)
                        : c->read_ns;
}

int64_t record_clock_ns(const struct record_clock *c, uint64_t theirs)
{
    int64_t ns = 0;
    for (unsigned i = c->count; i-- > 1;) {
        const struct clock_pair *first = &c->pairs[i - 1];
        if (!first[1].exchanged && theirs >= first->theirs && theirs <= first[1].theirs) {
            return first[1].ours_ns -
                   (int64_t)distance_ns(theirs, first[1].theirs, first[1].rate);
        }
    }
    for (int near = 1; near <= NEAR; near += NEAR - 1) {
        for (unsigned i = c->count; i-- > 1;) {
            if (c->pairs[i].exchanged && place_between(c, i, theirs, near, &ns)) {
                return ns;
            }
        }
    }
    return c->count ? place_outside(c, theirs) : 0;
}
