/* SPDX-License-Identifier: Apache-2.0 */
/* Learns what the backend declares, and when to send to it again after a failure. */
#include "upload/core/origin.h"

#include <stdio.h>

#include "upload/http/key_check.h"
#include "upload/http/reply.h"
#include "upload/pace/backoff.h"

#define BACKOFF_BASE_MS 500u
#define BACKOFF_CAP_MS  30000u
#define SLOW_REPLY_MS   10u
#define FEW_SLOTS       4u
#define REQUESTS_A_SLOT 250u
#define ASK_AGAIN_MS    600000u
#define ASK_EPOCH_MS    60000u
#define ASK_SOON_MS     1000u
/* After so many in a row, an answer that tells nothing is believed. */
#define DOUBTS_MAX 3u

#define ALIVE_AFTER_MIN_MS 1000u
#define ALIVE_AFTER_MAX_MS 3600000u

bool origin_probing(const struct origin *origin)
{
    return origin->failures || origin->hold;
}

/* A connection costs both ends: more than a few pay off only where answers are slow, or
 * where many requests share them. */
unsigned origin_slots(const struct origin *origin)
{
    uint64_t shared = origin->successes / REQUESTS_A_SLOT;
    if (origin_probing(origin)) {
        return 1;
    }
    if (origin->reply_ms >= SLOW_REPLY_MS || shared >= TRANSPORT_SLOTS) {
        return TRANSPORT_SLOTS;
    }
    return shared > FEW_SLOTS ? (unsigned)shared : FEW_SLOTS;
}

bool origin_ready(const struct origin *origin, uint64_t now_ms)
{
    return origin->in_flight < origin_slots(origin) && now_ms >= origin->not_before_ms;
}

/* A success proves that the origin works: waiting ends for all but those that fail alone.
 */
void origin_ok(struct origin *origin)
{
    if (origin->failures || origin->hold) {
        log_info(origin->config->log, "origin.ok", "after_failures=%u", origin->failures);
        origin->ask_at_ms = 0; /* it may have been replaced meanwhile */
    }
    trouble_set(origin->trouble, origin->config->sys, false);
    origin->failures = 0;
    origin->not_before_ms = origin->rests_until_ms = 0;
    origin->successes++;
    pace_answered(&origin->pace);
    origin->hold = HOLD_NONE;
    origin->answered = true;
}

void origin_failed(struct origin *origin, const struct transport_reply *reply,
                   uint64_t now_ms)
{
    origin->failures++;
    if (reply->status == 429 || reply->status == 503 || reply->retry_after_ms) {
        pace_refused(&origin->pace, reply->took_ms, now_ms);
    }
    origin->told_ms = 0; /* it may come back as another one, or as it was before */
    trouble_set(origin->trouble, origin->config->sys, true);
    origin->not_before_ms =
        now_ms + backoff_ms(origin->config->sys, origin->failures, BACKOFF_BASE_MS,
                            BACKOFF_CAP_MS, reply->retry_after_ms);
    if (reply->status == 0 || reply->retry_after_ms) {
        origin->rests_until_ms = origin->not_before_ms;
    }
}

void origin_failed_to_tell(struct origin *origin, const struct transport_reply *reply,
                           uint64_t now_ms)
{
    char why[256];
    origin_failed(origin, reply, now_ms);
    reply_failure(reply, why);
    if (origin->failures == 1) {
        log_warn(origin->config->log, "origin.failing", "status=%d reason=\"%s\"",
                 reply->status, why);
    }
    trouble_say(origin->trouble, "%s", why);
}

static void say_hold(struct origin *origin, int status, const char *reason)
{
    const char *refusal = key_check_says(status);
    const char *what = refusal ? refusal : "";
    log_error(origin->config->log, "origin.hold", "status=%d reason=\"%s%s%s\"", status,
              what, *what && *reason ? ": " : "", reason);
    if (*what) {
        trouble_say(origin->trouble, "%s (HTTP %d)%s%s", what, status,
                    *reason ? ": " : "", reason);
    } else {
        trouble_say(origin->trouble, "the backend answered %d: %s", status, reason);
    }
}

void origin_hold(struct origin *origin, int status, const char *reason, uint64_t now_ms)
{
    enum engine_hold hold = status == 401 || status == 403 ? HOLD_AUTH : HOLD_SERVER;
    if (origin->hold != hold || origin->hold_status != status) {
        say_hold(origin, status, reason);
    }
    origin->hold = hold;
    origin->hold_status = status;
    trouble_set(origin->trouble, origin->config->sys, true);
    if (!origin->live_windows && !origin->zstd) {
        origin->state = ORIGIN_UNASKED; /* what was asked may not have been the backend */
    }
    origin->answered = true;
    origin->not_before_ms =
        now_ms + backoff_ms(origin->config->sys, 1, ORIGIN_SLOW_RETRY_MS,
                            ORIGIN_SLOW_RETRY_MS, 1000);
    if (status == 401) {
        origin->rests_until_ms = origin->not_before_ms;
    }
}

/* Whatever it declares, it costs a request a second at most. */
static uint64_t origin_alive_after(const struct reply_version *version)
{
    uint64_t after_ms = version->alive_after_ms;
    bool too_soon = after_ms > 0 && after_ms < ALIVE_AFTER_MIN_MS;
    return too_soon                        ? ALIVE_AFTER_MIN_MS
           : after_ms > ALIVE_AFTER_MAX_MS ? ALIVE_AFTER_MAX_MS
                                           : after_ms;
}

static void origin_say_what_lacks(const struct origin *origin,
                                  const struct reply_version *version)
{
    if (version->positions && !version->epoch) {
        log_warn(origin->config->log, "origin.no_epoch",
                 "note=\"the backend declares positions without an epoch: they are not "
                 "used\"");
    }
}

static void origin_learn(struct origin *origin, const struct transport_reply *reply)
{
    struct reply_version version = {.supported = true};
    if (reply->status >= 200 && reply->status <= 299) {
        reply_read_version(reply->body, reply->body_len, &version);
    }
    origin->state = ORIGIN_KNOWN;
    origin->zstd = version.zstd || (reply->accept_encoding && reply->accepts_zstd);
    origin->live_windows = version.live_windows;
    origin->alive_after_ms = origin_alive_after(&version);
    origin->positions = version.positions && version.epoch;
    origin->epoch = version.epoch;
    origin->database = version.database;
    origin->declared = reply->status >= 200 && reply->status <= 299 && !reply->web_page;
    if (!version.supported) {
        log_error(origin->config->log, "origin.version",
                  "note=\"the backend does not list wire version 1; sending anyway\"");
    }
    origin_say_what_lacks(origin, &version);
    if (!version.registry && !origin->positions) {
        log_warn(origin->config->log, "origin.no_registry",
                 "note=\"the backend declares no window registry: delivery is at least "
                 "once\"");
    }
    log_info(origin->config->log, "origin.known", "status=%d zstd=%d live_windows=%d",
             reply->status, origin->zstd, origin->live_windows);
}

void origin_refused(struct origin *origin, const struct transport_reply *reply,
                    uint64_t now_ms)
{
    char reason[200];
    bool key = reply->status == 401 || reply->status == 403;
    const char *hint = key ? ""
                       : reply->web_page
                           ? ORIGIN_WEB_PAGE
                           : "check the URL and the API path, or ask the backend's "
                             "operator";
    char said[120];
    reply_message(reply->body, reply->body_len, said, sizeof said);
    snprintf(reason, sizeof reason, "%s%s%s", hint, *hint && said[0] ? "; " : "", said);
    origin_hold(origin, reply->status, reason, now_ms);
}

/* An origin that declares nothing answers 404, 405 or 501. By any other refusal, and by a
 * page or a way to one, it, or something in front of it, may not have looked at the
 * question. */
static bool origin_is_doubtful(const struct transport_reply *reply)
{
    int status = reply->status;
    return status >= 300 ? status <= 499 && status != 404 && status != 405
                         : reply->web_page;
}

/* \return until when to wait before it is asked again; 0 = there is no doubt, or not any
 * more. */
static uint64_t origin_doubts(struct origin *origin, const struct transport_reply *reply,
                              uint64_t now_ms)
{
    if (!origin_is_doubtful(reply)) {
        origin->doubts = 0;
        return 0;
    }
    if (origin->doubts < DOUBTS_MAX) {
        origin->doubts++;
    }
    return origin->doubts == DOUBTS_MAX
               ? 0
               : now_ms + backoff_ms(origin->config->sys, origin->doubts, BACKOFF_BASE_MS,
                                     BACKOFF_CAP_MS, reply->retry_after_ms);
}

/* Whether it gained or lost something, or went back, since. Anything but a declaration
 * changes nothing. */
static void origin_learn_again(struct origin *origin, const struct transport_reply *reply)
{
    struct reply_version version = {.supported = true};
    origin->asks_again = false;
    if (reply->status < 200 || reply->status > 299 || reply->web_page) {
        return;
    }
    reply_read_version(reply->body, reply->body_len, &version);
    bool positions = version.positions && version.epoch;
    if (version.readable && (positions != origin->positions ||
                             version.live_windows != origin->live_windows)) {
        log_info(origin->config->log, "origin.changes", "live_windows=%d positions=%d",
                 version.live_windows, positions);
        origin_say_what_lacks(origin, &version);
    }
    if (version.readable) {
        origin->live_windows = version.live_windows;
        origin->positions = positions;
        origin->epoch = version.epoch;
        origin->database = version.database;
    }
}

/* One that names epochs may go back, which nothing else shows while nothing is sent. */
static bool origin_is_due(const struct origin *origin, uint64_t now_ms)
{
    return now_ms >= origin->ask_at_ms ||
           (origin->epoch && now_ms >= origin->asked_ms + ASK_EPOCH_MS);
}

void origin_probe(struct origin *origin, uint64_t now_ms)
{
    bool again = origin->state == ORIGIN_KNOWN && (origin->declared || origin->doubts) &&
                 !origin->asks_again && origin_is_due(origin, now_ms);
    if ((origin->state != ORIGIN_UNASKED && !again) || now_ms < origin->not_before_ms) {
        return;
    }
    struct transport_request request = {.kind = TRANSPORT_PROBE, .fd = -1, .tag = origin};
    if (origin->config->transport.submit(origin->config->transport.self, &request) ==
        GPUFL_OK) {
        origin->state = again ? ORIGIN_KNOWN : ORIGIN_ASKING;
        origin->asks_again = again;
        origin->asked_ms = now_ms;
        origin->ask_at_ms = now_ms + ASK_AGAIN_MS;
        origin->in_flight++;
    }
}

static void origin_on_again(struct origin *origin, const struct transport_reply *reply,
                            uint64_t asks_at_ms)
{
    bool declares = reply->status >= 200 && reply->status <= 299 && !reply->web_page;
    origin->ask_at_ms = asks_at_ms ? asks_at_ms : origin->ask_at_ms;
    if (!origin->declared && declares) {
        origin->asks_again = false;
        origin_learn(origin, reply); /* only refusals had been known of it */
    } else {
        origin_learn_again(origin, reply);
    }
}

/* Any other status below 500 counts as an answer, even 404: such an origin declares
 * nothing. */
void origin_on_probe(struct origin *origin, const struct transport_reply *reply,
                     uint64_t now_ms)
{
    bool later = reply->status == 0 || reply->status == 408 || reply->status == 425 ||
                 reply->status == 429 || (reply->status >= 500 && reply->status != 501);
    uint64_t asks_at_ms = origin_doubts(origin, reply, now_ms);
    origin->answered = origin->answered || reply->status != 0;
    if (reply->status >= 200 && reply->status <= 299 && !reply->web_page) {
        origin->told_ms = origin->asked_ms + 1;
    }
    if (origin->asks_again) {
        origin_on_again(origin, reply, asks_at_ms);
        return;
    }
    if (!later && asks_at_ms) {
        origin->state = ORIGIN_UNASKED;
        origin->not_before_ms = asks_at_ms;
        return;
    }
    if (!later) {
        origin_learn(origin, reply);
        if (reply->status < 300) {
            origin_ok(origin);
        }
        return;
    }
    origin->state = ORIGIN_UNASKED;
    origin->doubts = 0; /* it said nothing */
    origin_failed_to_tell(origin, reply, now_ms);
}

bool origin_told_since(struct origin *origin, uint64_t since_ms, uint64_t now_ms)
{
    if (!origin->epoch || origin->told_ms > since_ms) {
        return true;
    }
    if (now_ms >= origin->asked_ms + ASK_SOON_MS || origin->told_ms) {
        origin->ask_at_ms = now_ms;
    }
    return false;
}

void origin_note_epoch(struct origin *origin, uint64_t epoch, uint64_t database)
{
    if (epoch && epoch != origin->epoch) {
        log_info(origin->config->log, "origin.epoch",
                 "note=\"the backend may have gone back: it is asked where each stream "
                 "ends\"");
        origin->epoch = epoch;
        origin->database = database;
    }
}
