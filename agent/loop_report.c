/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the state of engine, watcher and process into figures and sentences. */
#include "agent/loop_report.h"

#include <stdio.h>

#include "agent/metrics.h"
#include "base/message.h"
#include "base/plural.h"
#include "upload/engine/backlog.h"
#include "upload/engine/closed_own.h"
#include "upload/engine/summary_text.h"

#define STATUS_MS 10000u

/* A newline in the name of a folder would begin another variable for systemd. */
static void say_why_not_ready(const struct loop *loop, const struct engine_summary *s,
                              char *out, size_t size)
{
    const char *what = s->hold == HOLD_AUTH      ? ""
                       : s->hold == HOLD_SERVER  ? "the backend sends invalid answers"
                       : s->hold == HOLD_QUOTA   ? "the workspace is full"
                       : s->hold == HOLD_JOURNAL ? "the state directory cannot be written"
                                                 : NULL;
    char text[512] = "";
    if (what) {
        snprintf(text, sizeof text, "%s%s%s", what, *what ? ": " : "", s->last_problem);
    } else if (loop->refused_why[0]) {
        snprintf(text, sizeof text, "a folder cannot be served: %.450s",
                 loop->refused_why);
    } else if (s->roots_away) {
        snprintf(text, sizeof text, "a folder is away: %.450s", s->away);
    }
    message_escape(text, out, size);
}

/* Others are served all the same, and anybody can make very many directories: the agent
 * stays ready. */
static void say_what_waits(const struct engine_summary *s, char *out, size_t size)
{
    out[0] = '\0';
    if (s->directories_waiting) {
        snprintf(out, size, "%u %s: there is no room for more of user %u",
                 s->directories_waiting,
                 plural(s->directories_waiting, "directory waits", "directories wait"),
                 s->waiting_owner);
    }
}

void loop_report_figures(struct loop *loop)
{
    struct listen_figures *figures = listener_turn(loop->listener);
    if (!figures) {
        return;
    }
    struct metrics_agent agent = {.start_time_s = loop->start_time_s,
                                  .inotify_overflows = loop->inotify_overflows,
                                  .watch_incomplete =
                                      loop->watch && watch_incomplete(loop->watch)};
    metrics_write(loop->engine, &agent, &figures->metrics);
    struct engine_summary s;
    engine_summary(loop->engine, &s);
    say_why_not_ready(loop, &s, figures->not_ready, sizeof figures->not_ready);
    say_what_waits(&s, figures->waits, sizeof figures->waits);
    listener_filled(loop->listener);
}

static void make_status(const struct loop *loop, char *out, size_t size)
{
    struct backlog b;
    struct engine_summary s;
    char why[300];
    engine_backlog(loop->engine, &b);
    engine_summary(loop->engine, &s);
    say_why_not_ready(loop, &s, why, sizeof why);
    if (!why[0]) {
        say_what_waits(&s, why, sizeof why);
    }
    if (!why[0]) {
        message_escape(loop->listen_why, why, sizeof why);
    }
    snprintf(out, size,
             "%u %s live, %u ended, %u blocked; backlog %.1f MiB, oldest %.0f s%s%.150s",
             b.live, plural(b.live, "session", "sessions"), b.ended + b.parked_session,
             b.blocked, (double)b.bytes / (1 << 20), b.oldest_s, why[0] ? "; " : "", why);
}

void loop_report_to_systemd(struct loop *loop, uint64_t now_ms)
{
    struct notify *n = &loop->notify;
    char status[sizeof n->status];
    if (n->fd < 0) {
        return;
    }
    if (n->watchdog_ms && now_ms >= n->watchdog_at_ms) {
        n->watchdog_at_ms = now_ms + n->watchdog_ms;
        notify_send(n, "WATCHDOG=1");
    }
    if (now_ms >= n->status_at_ms || loop->draining) {
        n->status_at_ms = now_ms + STATUS_MS;
        make_status(loop, status, sizeof status);
        notify_status(n, status);
    }
}

/* What is left, and what a person does about it. */
static void say_what_is_left(const struct engine_summary *s, char *out, size_t size)
{
    char text[SUMMARY_AWAY_TEXT] = "";
    if (s->sessions_away) {
        summary_away_text(s, "start the agent again", text);
    } else if (s->roots_away) {
        snprintf(text, sizeof text,
                 "a folder is away: %.450s (start the agent again when it is back)",
                 s->away);
    } else if (s->sessions_blocked) {
        snprintf(text, sizeof text, "some is kept back; see gpufl status");
    } else if (s->streams_pending) {
        snprintf(text, sizeof text, "the rest will be sent after the next start");
    }
    message_escape(text, out, size);
}

int loop_end(const struct loop *loop)
{
    struct engine_summary s;
    char left[SUMMARY_AWAY_TEXT];
    engine_summary(loop->engine, &s);
    closed_own_count(loop->engine, &s);
    bool all = s.streams_pending == 0 && engine_summary_accepted(&s);
    say_what_is_left(&s, left, sizeof left);
    log_line(&loop->log, all ? LOG_AT_INFO : LOG_AT_WARN, "agent.stopped",
             "sent_lines=%llu complete=%u unsent_channels=%u quarantined=%llu blocked=%u "
             "away=%u ended=%u refused=%llu%s%s%s",
             (unsigned long long)s.lines_acked, s.sessions_done - s.sessions_lacking,
             s.streams_pending, (unsigned long long)s.ranges_quarantined,
             s.sessions_blocked, s.sessions_away, s.sessions_lacking,
             (unsigned long long)(s.lines_rejected + s.lines_refused_final),
             left[0] ? " note=\"" : "", left, left[0] ? "\"" : "");
    if (loop->replaced) {
        return LOOP_NOT_ALL;
    }
    return all || !loop->options->exit_when_drained ? 0 : LOOP_NOT_ALL;
}
