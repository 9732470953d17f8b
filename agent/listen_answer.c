/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses status and text by route and state. */
#include "agent/listen_answer.h"

#include <stdio.h>
#include <string.h>

#define PLAIN      "text/plain; charset=utf-8"
#define PROMETHEUS "text/plain; version=0.0.4; charset=utf-8"

static void respond(struct text *out, const char *status, const char *type,
                    const char *body, size_t len)
{
    text_printf(out,
                "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s"
                "Connection: close\r\nCache-Control: no-store\r\n\r\n",
                status, type, len,
                strncmp(status, "405", 3) == 0 ? "Allow: GET\r\n" : "");
    text_append(out, body, len);
}

static void respond_plain(struct text *out, const char *status, const char *body)
{
    respond(out, status, PLAIN, body, strlen(body));
}

static void respond_hanging(struct text *out, uint64_t silent_ms)
{
    char body[64];
    snprintf(body, sizeof body, "the main loop has been stuck for %llu s\n",
             (unsigned long long)silent_ms / 1000);
    respond_plain(out, "503 Service Unavailable", body);
}

static void respond_ready(struct text *out, const struct listen_state *state)
{
    char body[sizeof state->figures->not_ready + 2];
    if (state->silent_ms >= LISTEN_HANGS_MS) {
        respond_hanging(out, state->silent_ms);
    } else if (!state->filled) {
        respond_plain(out, "503 Service Unavailable", "not started yet\n");
    } else if (state->figures->not_ready[0]) {
        snprintf(body, sizeof body, "%s\n", state->figures->not_ready);
        respond_plain(out, "503 Service Unavailable", body);
    } else {
        const char *waits = state->figures->waits;
        snprintf(body, sizeof body, "ready\n%s%s", waits, *waits ? "\n" : "");
        respond_plain(out, "200 OK", body);
    }
}

static void respond_metrics(struct text *out, const struct listen_state *state)
{
    const struct text *metrics = &state->figures->metrics;
    if (!state->filled) {
        respond_plain(out, "503 Service Unavailable", "not started yet\n");
    } else if (metrics->failed) {
        respond_plain(out, "503 Service Unavailable", "out of memory\n");
    } else {
        respond(out, "200 OK", PROMETHEUS, metrics->data, metrics->len);
    }
}

void listen_answer(enum listen_route route, const struct listen_state *state,
                   struct text *out)
{
    switch (route) {
    case LISTEN_METRICS:
        respond_metrics(out, state);
        break;
    case LISTEN_HEALTHZ:
        if (state->silent_ms < LISTEN_HANGS_MS) {
            respond_plain(out, "200 OK", "ok\n");
        } else {
            respond_hanging(out, state->silent_ms);
        }
        break;
    case LISTEN_READYZ:
        respond_ready(out, state);
        break;
    case LISTEN_NOT_FOUND:
        respond_plain(out, "404 Not Found", "try /metrics, /healthz or /readyz\n");
        break;
    case LISTEN_NOT_GET:
        respond_plain(out, "405 Method Not Allowed", "only GET is supported\n");
        break;
    case LISTEN_MORE:
    case LISTEN_BAD:
        respond_plain(out, "400 Bad Request", "not a valid HTTP request\n");
        break;
    }
}
