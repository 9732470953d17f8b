/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for another uploader, by what that tells. */
#include "upload/wait_holder.h"

#include <poll.h>

#include "upload/holder_look.h"

#define CHECK_PROGRESS_EVERY_MS 100
#define CHECK_WRITERS_EVERY_MS  1000u

/* Writers end, and holds count, though nothing new is told. */
static uint64_t wait_look_again(const struct holder_wait *wait, uint64_t now_ms)
{
    uint64_t again_ms = now_ms + CHECK_WRITERS_EVERY_MS;
    return now_ms < wait->holds_from_ms && wait->holds_from_ms < again_ms
               ? wait->holds_from_ms
               : again_ms;
}

gpufl_status wait_for_holder(const struct sys *sys, struct holder_targets *targets,
                             struct holder_wait *wait)
{
    for (;;) {
        uint64_t now_ms = sys->now_ms();
        bool changed;
        gpufl_status status = holder_look(targets, wait->origin, &changed);
        if (changed) {
            wait->room = holder_targets_room(targets);
        }
        if (status == GPUFL_OK && (changed || now_ms >= wait->look_ms)) {
            wait->look_ms = wait_look_again(wait, now_ms);
            wait->over = holder_targets_over(targets, now_ms < wait->holds_from_ms);
        }
        if (status == GPUFL_OK && wait->over) {
            return GPUFL_OK;
        }
        if (now_ms >= wait->deadline_ms) {
            return status == GPUFL_OK ? GPUFL_PARTIAL : GPUFL_BUSY;
        }
        poll(NULL, 0, CHECK_PROGRESS_EVERY_MS);
    }
}
