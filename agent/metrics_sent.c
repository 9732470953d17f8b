/* SPDX-License-Identifier: Apache-2.0 */
/* Writes them from the counters of the engine. */
#include "agent/metrics_sent.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/metrics_format.h"

static void write_channels(struct text *out, const struct counters *c)
{
    metrics_about(out, "lines_sent_total", "counter",
                  "Lines acknowledged by the backend.");
    for (unsigned i = 0; i < c->channels; i++) {
        metrics_line(out, "gpufl_agent_lines_sent_total{channel=\"%s\"} %" PRIu64,
                     c->channel[i].name, c->channel[i].lines);
    }
    metrics_about(out, "batches_sent_total", "counter",
                  "Batches of lines acknowledged by the backend.");
    for (unsigned i = 0; i < c->channels; i++) {
        metrics_line(out, "gpufl_agent_batches_sent_total{channel=\"%s\"} %" PRIu64,
                     c->channel[i].name, c->channel[i].batches);
    }
    metrics_about(out, "windows_sent_total", "counter",
                  "Sealed windows of the existing client acknowledged by the backend.");
    for (unsigned i = 0; i < c->channels; i++) {
        metrics_line(out, "gpufl_agent_windows_sent_total{channel=\"%s\"} %" PRIu64,
                     c->channel[i].name, c->channel[i].windows);
    }
}

/* One line a status, with \p zero for 0. */
static void write_statuses(struct text *out, const struct counters_statuses *statuses,
                           const char *name, const char *prefix, const char *zero)
{
    for (unsigned i = 0; i < statuses->used; i++) {
        int status = statuses->at[i].status;
        char value[32];
        snprintf(value, sizeof value, "%s%d", prefix, status);
        metrics_line(out, "gpufl_agent_%s=\"%s\"} %" PRIu64, name,
                     status == 0                       ? zero
                     : status == COUNTERS_OTHER_STATUS ? "other"
                                                       : value,
                     statuses->at[i].count);
    }
}

static void write_requests(struct text *out, const struct counters *c)
{
    metrics_about(out, "requests_total", "counter",
                  "Requests by HTTP status; none = no answer.");
    write_statuses(out, &c->answers, "requests_total{code", "", "none");
    static const char *const reason[TRANSPORT_FAILURES] = {
        [TRANSPORT_BROKEN] = "broken",   [TRANSPORT_NAME] = "name",
        [TRANSPORT_CONNECT] = "connect", [TRANSPORT_TLS] = "tls",
        [TRANSPORT_TIMEOUT] = "timeout", [TRANSPORT_BUSY] = "busy",
        [TRANSPORT_SERVER] = "server"};
    metrics_about(out, "retries_total", "counter",
                  "Batches to be retried, by reason: no complete answer (broken, name, "
                  "connect, tls, timeout), 408, 425 or 429 (busy), 5xx (server).");
    for (unsigned i = 0; i < TRANSPORT_FAILURES; i++) {
        metrics_line(out, "gpufl_agent_retries_total{reason=\"%s\"} %" PRIu64, reason[i],
                     c->retries[i]);
    }
}

static void write_losses(struct text *out, const struct engine_summary *s,
                         const struct counters *c)
{
    metrics_about(
        out, "quarantined_total", "counter",
        "Ranges put into quarantine, by the answer that caused it; local = never sent.");
    write_statuses(out, &c->quarantined, "quarantined_total{reason", "http_", "local");
    metrics_counter(out, "rejected_lines_total", s->lines_rejected,
                    "Lines that the backend rejected from batches that it accepted.");
    metrics_counter(out, "refused_final_lines_total", s->lines_refused_final,
                    "Lines for sessions that the backend had already closed.");
    metrics_counter(
        out, "renamed_windows_total", c->windows_renamed,
        "Windows that were sent under another id than their sidecar's, as the "
        "backend had other content under that.");
    metrics_counter(out, "lost_windows_total", c->lost_windows,
                    "Files deleted before they were sent; a lower bound.");
    metrics_about(out, "given_up_total", "counter",
                  "Times that a person gave up what is gone, by what held it.");
    for (int i = HELD_NOT + 1; i < HELD_REASONS_COUNT; i++) {
        metrics_line(out, "gpufl_agent_given_up_total{reason=\"%s\"} %" PRIu64,
                     held_key((enum held_reason)i), c->lost[i]);
    }
    metrics_counter(
        out, "refused_names_total", c->refused_names,
        "Files in session directories that may hold records and are not read.");
    metrics_counter(out, "state_write_errors_total", s->state_write_errors,
                    "Failed writes of the journal; nothing is sent until one succeeds.");
}

void metrics_sent_write(struct text *out, const struct engine_summary *summary,
                        const struct counters *c)
{
    write_channels(out, c);
    metrics_counter(out, "sent_bytes_total", summary->sent_bytes,
                    "Bytes of acknowledged request bodies, as sent.");
    write_requests(out, c);
    write_losses(out, summary, c);
}

/* Lines and bytes of one kind; with \p reason, one of several, whose kind was described
 * before. */
static void write_amount(struct text *out, const char *kind, const char *reason,
                         const struct counters_amount *amount)
{
    char label[64] = "";
    if (reason) {
        snprintf(label, sizeof label, "{reason=\"%s\"}", reason);
    }
    metrics_line(out, "gpufl_agent_%s%s %" PRIu64, kind, label,
                 strstr(kind, "_lines") ? amount->lines : amount->bytes);
}

static void write_kept_back(struct text *out, const char *unit, const struct account *a)
{
    char held[32];
    char refused[32];
    char lost[32];
    snprintf(held, sizeof held, "held_%s", unit);
    snprintf(refused, sizeof refused, "refused_%s", unit);
    snprintf(lost, sizeof lost, "lost_%s", unit);
    metrics_about(out, held, "gauge",
                  "Read, and waiting until somebody acts, by what holds it.");
    for (int i = HELD_NOT + 1; i < HELD_REASONS_COUNT; i++) {
        write_amount(out, held, held_key((enum held_reason)i), &a->held[i]);
    }
    metrics_about(out, refused, "gauge",
                  "Read and refused since the start: put into quarantine, or the backend "
                  "had closed the session.");
    write_amount(out, refused, "quarantined", &a->fate[COUNTERS_QUARANTINED]);
    write_amount(out, refused, "closed", &a->fate[COUNTERS_CLOSED]);
    metrics_about(out, lost, "gauge",
                  "Read and not sent since the start: lines that their writer did not "
                  "finish, given up by a person, of sessions that were forgotten.");
    write_amount(out, lost, "torn", &a->fate[COUNTERS_TORN]);
    write_amount(out, lost, "given_up", &a->fate[COUNTERS_GIVEN_UP]);
    write_amount(out, lost, "forgotten", &a->fate[COUNTERS_FORGOTTEN]);
}

static double account_over(int64_t over)
{
    return over < 0 ? -(double)over : (double)over;
}

void metrics_account_write(struct text *out, const struct account *a)
{
    const struct counters_amount *elsewhere = &a->fate[COUNTERS_ELSEWHERE];
    metrics_gauge(out, "read_lines", (double)a->read.lines,
                  "Lines read since the start, each once, and again after the "
                  "backend went back.");
    metrics_gauge(out, "read_bytes", (double)a->read.bytes, "Likewise, bytes in files.");
    metrics_gauge(out, "acknowledged_lines",
                  (double)(a->acknowledged.lines + elsewhere->lines),
                  "Of these, the backend has.");
    metrics_gauge(out, "acknowledged_bytes",
                  (double)(a->acknowledged.bytes + elsewhere->bytes),
                  "Likewise, bytes in files.");
    metrics_gauge(out, "waiting_lines", (double)a->waiting.lines,
                  "Of these, on their way.");
    metrics_gauge(out, "waiting_bytes", (double)a->waiting.bytes,
                  "Likewise, bytes in files.");
    write_kept_back(out, "lines", a);
    write_kept_back(out, "bytes", a);
    metrics_gauge(out, "unaccounted_lines", account_over(a->lines_over),
                  "Lines read less acknowledged, waiting, held, refused and lost; 0 "
                  "unless there is a mistake.");
    metrics_gauge(out, "unaccounted_bytes", account_over(a->bytes_over),
                  "Likewise, bytes in files.");
}
