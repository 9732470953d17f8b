/* SPDX-License-Identifier: Apache-2.0 */
/* Writes them from the counters of the engine. */
#include "agent/metrics_sent.h"

#include <inttypes.h>
#include <stdio.h>

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
