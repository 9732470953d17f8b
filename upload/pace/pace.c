/* SPDX-License-Identifier: Apache-2.0 */
/* Fits the number of full batches under way to the origin. */
#include "upload/pace/pace.h"

/* The least answer time is that of the last one or two of these periods. */
#define PACE_PERIOD_MS 30000u
/* An origin is slower than it was when answers take more than twice the least time, and
 * so much longer: what a sync or a busy processor costs now and then is no sign. */
#define PACE_SLACK_MS 50u
/* Slower answers alone leave two: while one is answered, the next one is on its way. */
#define PACE_SLOW_MILLI 2000u

void pace_init(struct pace *pace, unsigned most, uint64_t now_ms)
{
    *pace = (struct pace){.milli = most * 1000u,
                          .most = most,
                          .least_ms = UINT64_MAX,
                          .since_ms = now_ms,
                          .least_old_ms = UINT64_MAX};
}

unsigned pace_batches(const struct pace *pace)
{
    return pace->milli < 1000 ? 1 : (unsigned)(pace->milli / 1000);
}

void pace_answered(struct pace *pace)
{
    pace->milli += 1000 / pace_batches(pace);
    if (pace->milli > pace->most * 1000) {
        pace->milli = pace->most * 1000;
    }
}

/* All that were under way at once tell the same. */
static void pace_cut(struct pace *pace, uint64_t least_milli, uint64_t took_ms,
                     uint64_t now_ms)
{
    uint64_t half = pace->milli / 2 > least_milli ? pace->milli / 2 : least_milli;
    if (now_ms - took_ms >= pace->cut_ms && half < pace->milli) {
        pace->milli = half;
        pace->cut_ms = now_ms;
    }
}

static void pace_note_least(struct pace *pace, uint64_t took_ms, uint64_t now_ms)
{
    if (now_ms - pace->since_ms >= PACE_PERIOD_MS) {
        pace->least_old_ms = pace->least_ms;
        pace->least_ms = UINT64_MAX;
        pace->since_ms = now_ms;
    }
    pace->least_ms = took_ms < pace->least_ms ? took_ms : pace->least_ms;
}

void pace_note_full(struct pace *pace, uint64_t took_ms, uint64_t now_ms)
{
    pace_note_least(pace, took_ms, now_ms);
    uint64_t least =
        pace->least_old_ms < pace->least_ms ? pace->least_old_ms : pace->least_ms;
    pace->full_ms = pace->full_ms ? (3 * pace->full_ms + took_ms) / 4 : took_ms;
    if (pace->full_ms > 2 * least + PACE_SLACK_MS) {
        pace_cut(pace, PACE_SLOW_MILLI, took_ms, now_ms);
    }
}

void pace_refused(struct pace *pace, uint64_t took_ms, uint64_t now_ms)
{
    pace_cut(pace, 1000, took_ms, now_ms);
}
