/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/metrics.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/process.h"
#include "upload/engine/backlog.h"
#include "upload/engine/counters.h"

struct text {
    char *out;
    size_t size;
    size_t len;
};

__attribute__((format(printf, 2, 3))) static void line(struct text *t, const char *format,
                                                       ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->out + t->len, t->size - t->len, format, args);
    va_end(args);
    if (n < 0 || (size_t)n + 1 >= t->size - t->len) {
        t->out[t->len] = '\0';
        return;
    }
    t->len += (size_t)n;
    t->out[t->len++] = '\n';
    t->out[t->len] = '\0';
}

static void about(struct text *t, const char *name, const char *type, const char *help)
{
    line(t, "# HELP gpufl_agent_%s %s", name, help);
    line(t, "# TYPE gpufl_agent_%s %s", name, type);
}

static void counter(struct text *t, const char *name, uint64_t value, const char *help)
{
    about(t, name, "counter", help);
    line(t, "gpufl_agent_%s %" PRIu64, name, value);
}

static void gauge(struct text *t, const char *name, double value, const char *help)
{
    about(t, name, "gauge", help);
    line(t, "gpufl_agent_%s %.15g", name, value);
}

/* ---- what was sent ---- */

static void write_channels(struct text *t, const struct counters *c)
{
    about(t, "lines_sent_total", "counter", "Lines that the backend has acknowledged.");
    for (unsigned i = 0; i < c->channels; i++) {
        line(t, "gpufl_agent_lines_sent_total{channel=\"%s\"} %" PRIu64,
             c->channel[i].name, c->channel[i].lines);
    }
    about(t, "batches_sent_total", "counter", "Batches of lines that were acknowledged.");
    for (unsigned i = 0; i < c->channels; i++) {
        line(t, "gpufl_agent_batches_sent_total{channel=\"%s\"} %" PRIu64,
             c->channel[i].name, c->channel[i].batches);
    }
    about(t, "windows_sent_total", "counter",
          "Sealed windows of the existing client that were acknowledged.");
    for (unsigned i = 0; i < c->channels; i++) {
        line(t, "gpufl_agent_windows_sent_total{channel=\"%s\"} %" PRIu64,
             c->channel[i].name, c->channel[i].windows);
    }
}

/* One line a status, with \p zero for 0. */
static void write_statuses(struct text *t, const struct counters_statuses *statuses,
                           const char *name, const char *prefix, const char *zero)
{
    for (unsigned i = 0; i < statuses->used; i++) {
        int status = statuses->at[i].status;
        char value[32];
        snprintf(value, sizeof value, "%s%d", prefix, status);
        line(t, "gpufl_agent_%s=\"%s\"} %" PRIu64, name,
             status == 0                       ? zero
             : status == COUNTERS_OTHER_STATUS ? "other"
                                               : value,
             statuses->at[i].count);
    }
}

static void write_requests(struct text *t, const struct counters *c)
{
    about(t, "requests_total", "counter",
          "Requests by the answer's status; none = no answer came.");
    write_statuses(t, &c->answers, "requests_total{code", "", "none");
    static const char *const reason[TRANSPORT_FAILURES] = {
        [TRANSPORT_BROKEN] = "broken",   [TRANSPORT_NAME] = "name",
        [TRANSPORT_CONNECT] = "connect", [TRANSPORT_TLS] = "tls",
        [TRANSPORT_TIMEOUT] = "timeout", [TRANSPORT_BUSY] = "busy",
        [TRANSPORT_SERVER] = "server"};
    about(t, "retries_total", "counter",
          "Batches to be sent again, by the reason: no whole answer (broken, name, "
          "connect, tls, timeout), 408, 425 or 429 (busy), 5xx (server).");
    for (unsigned i = 0; i < TRANSPORT_FAILURES; i++) {
        line(t, "gpufl_agent_retries_total{reason=\"%s\"} %" PRIu64, reason[i],
             c->retries[i]);
    }
}

static void write_losses(struct text *t, const struct engine_summary *s,
                         const struct counters *c, const struct metrics_agent *agent)
{
    about(t, "quarantined_total", "counter",
          "Ranges kept back for good, by the answer that did it; local = never sent.");
    write_statuses(t, &c->quarantined, "quarantined_total{reason", "http_", "local");
    counter(t, "rejected_lines_total", s->lines_rejected,
            "Lines that the backend left out of a batch that it took.");
    counter(t, "refused_final_lines_total", s->lines_refused_final,
            "Lines for a session that the backend had closed.");
    counter(t, "lost_windows_total", c->lost_windows,
            "Files deleted before they were sent, at least.");
    counter(t, "refused_names_total", c->refused_names,
            "Links, devices and other names in session directories that are not read.");
    counter(t, "state_write_errors_total", s->state_write_errors,
            "Times that the journal could not be written; nothing is sent until it can.");
    counter(t, "inotify_overflows_total", agent->inotify_overflows,
            "Times that events were lost; everything was looked at then.");
}

/* ---- what is ---- */

static void write_backlog(struct text *t, const struct engine *engine)
{
    struct backlog b;
    engine_backlog(engine, &b);
    gauge(t, "backlog_bytes", (double)b.bytes,
          "Bytes not acknowledged yet, of the sessions that are open.");
    gauge(
        t, "backlog_windows", (double)b.files,
        "Files with bytes that are not acknowledged yet, of the sessions that are open.");
    gauge(t, "oldest_unsent_seconds", b.oldest_s,
          "Age of the oldest line that is not acknowledged yet, at most; 0 = none.");
    about(
        t, "sessions", "gauge",
        "Sessions: live = being written, ended = being sent, waiting = ended, their turn "
        "comes, blocked = never complete without help, complete.");
    line(t, "gpufl_agent_sessions{state=\"live\"} %u", b.live);
    line(t, "gpufl_agent_sessions{state=\"ended\"} %u", b.ended);
    line(t, "gpufl_agent_sessions{state=\"waiting\"} %u", b.parked_session);
    line(t, "gpufl_agent_sessions{state=\"blocked\"} %u", b.blocked);
    line(t, "gpufl_agent_sessions{state=\"complete\"} %u", b.complete);
}

static void write_state(struct text *t, const struct engine_summary *s,
                        const struct counters *c, const struct metrics_agent *agent)
{
    uint64_t now_ms = sys_real.now_ms();
    about(
        t, "holding", "gauge",
        "1 where nothing is sent until a person acts: auth = the key is refused, server "
        "= the answer makes no sense, quota = the workspace is full, journal = no "
        "state can be written.");
    line(t, "gpufl_agent_holding{reason=\"auth\"} %d", s->hold == HOLD_AUTH);
    line(t, "gpufl_agent_holding{reason=\"server\"} %d", s->hold == HOLD_SERVER);
    line(t, "gpufl_agent_holding{reason=\"quota\"} %d", s->hold == HOLD_QUOTA);
    line(t, "gpufl_agent_holding{reason=\"journal\"} %d", s->hold == HOLD_JOURNAL);
    gauge(t, "quarantined_ranges", (double)s->ranges_quarantined,
          "Ranges in quarantine, of earlier runs too.");
    gauge(t, "watch_incomplete", agent->watch_incomplete,
          "1 where directories are polled as no more can be watched.");
    if (c->last_success_ms) {
        gauge(t, "last_success_timestamp_seconds",
              (double)sys_real.wall_s() - (double)(now_ms - c->last_success_ms) / 1e3,
              "When a batch was last acknowledged.");
    }
    if (c->clock_skew_known) {
        gauge(t, "clock_skew_seconds", (double)c->clock_skew_s,
              "The backend's clock minus this one.");
    }
}

static void write_process(struct text *t, const struct metrics_agent *agent)
{
    struct rusage use = {0};
    getrusage(RUSAGE_SELF, &use);
    double cpu_s = (double)use.ru_utime.tv_sec + (double)use.ru_utime.tv_usec / 1e6 +
                   (double)use.ru_stime.tv_sec + (double)use.ru_stime.tv_usec / 1e6;
    about(t, "build_info", "gauge", "The version, as a label.");
    line(t, "gpufl_agent_build_info{version=\"%s\"} 1", GPUFL_VERSION);
    line(t, "# HELP process_cpu_seconds_total User and system time.");
    line(t, "# TYPE process_cpu_seconds_total counter");
    line(t, "process_cpu_seconds_total %.3f", cpu_s);
    line(t, "# HELP process_resident_memory_bytes Resident memory.");
    line(t, "# TYPE process_resident_memory_bytes gauge");
    line(t, "process_resident_memory_bytes %" PRIu64, process_resident_bytes());
    line(t, "# HELP process_open_fds Open descriptors.");
    line(t, "# TYPE process_open_fds gauge");
    line(t, "process_open_fds %u", process_open_fds());
    line(t, "# HELP process_start_time_seconds When it started.");
    line(t, "# TYPE process_start_time_seconds gauge");
    line(t, "process_start_time_seconds %.3f", agent->start_time_s);
}

void metrics_write(const struct engine *engine, const struct metrics_agent *agent,
                   char *out, size_t size)
{
    struct text t = {.out = out, .size = size};
    struct engine_summary summary;
    const struct counters *counters = engine_counters(engine);
    engine_summary(engine, &summary);
    out[0] = '\0';
    write_process(&t, agent);
    write_channels(&t, counters);
    counter(&t, "sent_bytes_total", summary.sent_bytes,
            "Bodies as sent and acknowledged.");
    write_requests(&t, counters);
    write_losses(&t, &summary, counters, agent);
    write_backlog(&t, engine);
    write_state(&t, &summary, counters, agent);
}
