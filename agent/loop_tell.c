/* SPDX-License-Identifier: Apache-2.0 */
/* What the loop tells of itself. */
#include <stdio.h>

#include "agent/loop_internal.h"
#include "agent/metrics.h"

static void say_why_not_ready(const struct loop *loop, char *out, size_t size)
{
    struct engine_summary s;
    engine_summary(loop->engine, &s);
    const char *what = s.hold == HOLD_AUTH      ? "the API key is refused"
                       : s.hold == HOLD_SERVER  ? "the backend's answer makes no sense"
                       : s.hold == HOLD_QUOTA   ? "the workspace is at its limit"
                       : s.hold == HOLD_JOURNAL ? "the state directory cannot be written"
                                                : NULL;
    out[0] = '\0';
    if (what) {
        snprintf(out, size, "%s: %s", what, s.last_problem);
    }
}

void loop_tell_listener(struct loop *loop)
{
    struct listen_figures *figures = listener_turn(loop->listener);
    if (!figures) {
        return;
    }
    struct metrics_agent agent = {.start_time_s = loop->start_time_s,
                                  .inotify_overflows = loop->inotify_overflows,
                                  .watch_incomplete =
                                      loop->watch && watch_incomplete(loop->watch)};
    metrics_write(loop->engine, &agent, figures->metrics, sizeof figures->metrics);
    say_why_not_ready(loop, figures->not_ready, sizeof figures->not_ready);
    listener_tell(loop->listener);
}

void loop_say_what_is_left(const struct loop *loop)
{
    struct engine_summary s;
    engine_summary(loop->engine, &s);
    log_line(&loop->log, s.streams_pending ? LOG_AT_WARN : LOG_AT_INFO, "agent.stopped",
             "sent_lines=%llu complete=%u unsent_channels=%u quarantined=%llu%s",
             (unsigned long long)s.lines_acked, s.sessions_done, s.streams_pending,
             (unsigned long long)s.ranges_quarantined,
             s.streams_pending ? " note=\"the rest is sent after the next start\"" : "");
}
