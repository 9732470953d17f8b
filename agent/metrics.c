/* SPDX-License-Identifier: Apache-2.0 */
/* Gathers the figures of the engine, the agent and the process. */
#include "agent/metrics.h"

#include <inttypes.h>
#include <sys/resource.h>

#include "agent/metrics_format.h"
#include "agent/metrics_sent.h"
#include "agent/process.h"
#include "upload/core/counters.h"
#include "upload/engine/backlog.h"

static void write_backlog(struct text *out, const struct engine *engine)
{
    struct backlog b;
    engine_backlog(engine, &b);
    metrics_gauge(out, "backlog_bytes", (double)b.bytes,
                  "Bytes not acknowledged yet, in open sessions.");
    metrics_gauge(out, "backlog_windows", (double)b.files,
                  "Files with bytes not acknowledged yet, in open sessions.");
    metrics_gauge(
        out, "oldest_unsent_seconds", b.oldest_s,
        "Upper bound of the age of the oldest line not acknowledged yet; 0 = none.");
    metrics_about(
        out, "sessions", "gauge",
        "Sessions by state: live = being written, ended = being sent, waiting = ended "
        "and queued, blocked = cannot complete without intervention, away = their "
        "directory is not there, lossy = ended, but the backend knows that lines are "
        "missing, complete.");
    metrics_line(out, "gpufl_agent_sessions{state=\"live\"} %u", b.live);
    metrics_line(out, "gpufl_agent_sessions{state=\"ended\"} %u", b.ended);
    metrics_line(out, "gpufl_agent_sessions{state=\"waiting\"} %u", b.parked_session);
    metrics_line(out, "gpufl_agent_sessions{state=\"blocked\"} %u", b.blocked);
    metrics_line(out, "gpufl_agent_sessions{state=\"away\"} %u", b.away);
    metrics_line(out, "gpufl_agent_sessions{state=\"lossy\"} %u", b.lossy);
    metrics_line(out, "gpufl_agent_sessions{state=\"complete\"} %u", b.complete);
}

static void write_holds(struct text *out, const struct engine_summary *s)
{
    metrics_about(out, "holding", "gauge",
                  "1 while nothing is sent until somebody acts: auth = the key is "
                  "refused, server = invalid answers, quota = the workspace is full, "
                  "journal = the state cannot be written.");
    metrics_line(out, "gpufl_agent_holding{reason=\"auth\"} %d", s->hold == HOLD_AUTH);
    metrics_line(out, "gpufl_agent_holding{reason=\"server\"} %d",
                 s->hold == HOLD_SERVER);
    metrics_line(out, "gpufl_agent_holding{reason=\"quota\"} %d", s->hold == HOLD_QUOTA);
    metrics_line(out, "gpufl_agent_holding{reason=\"journal\"} %d",
                 s->hold == HOLD_JOURNAL);
    metrics_gauge(out, "quarantined_ranges", (double)s->ranges_quarantined,
                  "Ranges in quarantine, including those of earlier runs.");
}

static void write_away(struct text *out, const struct engine_summary *s)
{
    metrics_gauge(out, "folders_away", (double)s->roots_away,
                  "Folders whose path names nothing that can be served, or none of the "
                  "sessions that were there.");
    metrics_gauge(out, "directories_skipped", (double)s->directories_skipped,
                  "Directories below a folder that are left to another uploader, which "
                  "serves them or has a journal there.");
}

static void write_room(struct text *out, const struct engine_summary *s)
{
    metrics_gauge(
        out, "directories_waiting", (double)s->directories_waiting,
        "Directories that are not looked into because there is no room for more "
        "of their owner.");
    metrics_gauge(out, "kept_bytes", (double)s->kept_bytes,
                  "Memory for what is kept of all directories.");
}

static void write_watch(struct text *out, const struct metrics_agent *agent)
{
    metrics_counter(out, "inotify_overflows_total", agent->inotify_overflows,
                    "Times that inotify events were lost; each causes a full scan.");
    metrics_gauge(out, "watch_incomplete", agent->watch_incomplete,
                  "1 while directories are polled because no more can be watched.");
}

static void write_clocks(struct text *out, const struct counters *c)
{
    uint64_t now_ms = sys_real.now_ms();
    if (c->last_success_ms) {
        metrics_gauge(out, "last_success_timestamp_seconds",
                      (double)sys_real.wall_s() -
                          (double)(now_ms - c->last_success_ms) / 1e3,
                      "When a batch was last acknowledged.");
    }
    if (c->clock_skew_known) {
        metrics_gauge(out, "clock_skew_seconds", (double)c->clock_skew_s,
                      "The backend's clock minus this one.");
    }
}

static void write_process(struct text *out, const struct metrics_agent *agent)
{
    struct rusage use = {0};
    getrusage(RUSAGE_SELF, &use);
    double cpu_s = (double)use.ru_utime.tv_sec + (double)use.ru_utime.tv_usec / 1e6 +
                   (double)use.ru_stime.tv_sec + (double)use.ru_stime.tv_usec / 1e6;
    metrics_about(out, "build_info", "gauge", "Always 1; the version is a label.");
    metrics_line(out, "gpufl_agent_build_info{version=\"%s\"} 1", GPUFL_VERSION);
    metrics_line(out, "# HELP process_cpu_seconds_total User and system time.");
    metrics_line(out, "# TYPE process_cpu_seconds_total counter");
    metrics_line(out, "process_cpu_seconds_total %.3f", cpu_s);
    metrics_line(out, "# HELP process_resident_memory_bytes Resident memory.");
    metrics_line(out, "# TYPE process_resident_memory_bytes gauge");
    metrics_line(out, "process_resident_memory_bytes %" PRIu64, process_resident_bytes());
    metrics_line(out, "# HELP process_open_fds Open descriptors.");
    metrics_line(out, "# TYPE process_open_fds gauge");
    metrics_line(out, "process_open_fds %u", process_open_fds());
    metrics_line(out, "# HELP process_start_time_seconds Start time since the epoch.");
    metrics_line(out, "# TYPE process_start_time_seconds gauge");
    metrics_line(out, "process_start_time_seconds %.3f", agent->start_time_s);
}

void metrics_write(const struct engine *engine, const struct metrics_agent *agent,
                   struct text *out)
{
    struct engine_summary summary;
    struct account account;
    const struct counters *counters = engine_counters(engine);
    engine_summary(engine, &summary);
    engine_account(engine, &account);
    text_clear(out);
    write_process(out, agent);
    metrics_sent_write(out, &summary, counters);
    metrics_account_write(out, &account);
    write_backlog(out, engine);
    write_holds(out, &summary);
    write_away(out, &summary);
    write_room(out, &summary);
    write_watch(out, agent);
    write_clocks(out, counters);
}
