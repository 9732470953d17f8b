/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the directory as its only uploader and releases ranges. */
#include "cli/transfer/quarantine_act.h"

#include <stdio.h>
#include <string.h>

#include "base/message.h"
#include "cli/exit_codes.h"
#include "cli/transfer/quarantine_view.h"
#include "cli/transfer/upload_flags.h"
#include "schema/channels.h"
#include "upload/engine/engine.h"
#include "upload/http/key_check.h"
#include "upload/http/reply.h"
#include "upload/http/transport_ask.h"

struct act {
    const struct quarantine_choice *choice;
    struct engine *engine;
    struct transport transport; /* empty = drop */
    struct origin_identity backend;
    bool window_headers;
    const struct transport_http_config *to; /* NULL = drop */
    unsigned done;
    unsigned left;
    bool stopped; /* the backend takes nothing now, so no further range is offered */
};

/* No session: only what was asked for is sent. */
static bool wants_none(void *arg, const char *session)
{
    (void)arg;
    (void)session;
    return false;
}

static void act_say(const char *why)
{
    if (why[0]) {
        message_line("gpufl quarantine", "%s", why);
    }
}

/* \p why is empty if it has been said already. */
static gpufl_status act_open(struct act *act, char why[512])
{
    static const struct engine_channels channels = {{CHANNEL_NAMES}, CHANNEL_COUNT};
    static const struct log quiet = {0};
    struct engine_config config;
    if (quarantine_view_check(act->choice) != EXIT_ALL_DONE) {
        why[0] = '\0'; /* said */
        return GPUFL_ERR_IO;
    }
    engine_config_default(&config);
    config.log = &quiet;
    config.wanted = wants_none;
    config.ack_only = true;
    config.backend = act->transport.self ? &act->backend : NULL;
    config.same_origin = act->choice->same_origin;
    config.state_dir = act->choice->state_dir;
    config.state_dir_name = "--state-dir";
    config.program = "gpufl quarantine";
    gpufl_status status = engine_open(&config, &act->engine);
    if (status != GPUFL_OK) {
        snprintf(why, 512, "out of memory");
        return status;
    }
    return engine_add_root(act->engine, act->choice->directory, &channels, why);
}

/* They were refused by the backend that the journal was kept for. */
static gpufl_status act_check_backend(const struct act *act,
                                      const struct transport_http_config *backend,
                                      char why[512])
{
    const char *was = engine_moves_from(act->engine);
    if (!was) {
        return GPUFL_OK;
    }
    bool same_url = strcmp(was, act->backend.url) == 0;
    snprintf(why, 512,
             "%s: '%.150s': another one refused the ranges, at %.150s (give that one; or "
             "--same-origin if they are the same; or send everything here by gpufl "
             "upload)",
             http_config_name(backend, same_url ? "api_key" : "backend_url"),
             same_url ? "..." : act->backend.url, was);
    return GPUFL_ERR_USAGE;
}

/* What keeps the backend from taking any range. */
static void act_stop(struct act *act, gpufl_status status, const char *said)
{
    const char *url = http_config_name(act->to, "backend_url");
    const char *key = http_config_name(act->to, "api_key");
    act->stopped = true;
    if (status == GPUFL_ERR_CONTACT) {
        message_line("gpufl quarantine",
                     "%s: cannot reach '%s': %s (the ranges stay "
                     "quarantined; retry them later)",
                     url, act->to->backend_url, said);
    } else if (status == GPUFL_ERR_AUTH) {
        message_line("gpufl quarantine",
                     "%s: %s (the ranges stay quarantined; give another key)", key, said);
    } else {
        message_line("gpufl quarantine",
                     "%s: '%s': %s (the ranges stay quarantined; check the "
                     "URL, or retry them later)",
                     url, act->to->backend_url, said);
    }
}

/* Whether the origin declares window identity for batches. One that cannot say it now is
 * sent nothing. */
static void act_ask_windows(struct act *act)
{
    struct transport_request request = {.kind = TRANSPORT_PROBE, .fd = -1};
    struct transport_reply reply;
    struct reply_version version = {0};
    char why[256] = "out of memory";
    bool asked = transport_ask(&act->transport, &request, &reply) == GPUFL_OK;
    if (asked && key_check_of(TRANSPORT_PROBE, &reply, false) != KEY_LATER) {
        reply_read_version(reply.body, reply.status == 200 ? reply.body_len : 0,
                           &version);
        act->window_headers = version.live_windows;
        return;
    }
    if (asked && reply.status == 0) {
        act_stop(act, GPUFL_ERR_CONTACT, reply.error);
    } else {
        if (asked) {
            reply_failure(&reply, why);
        }
        act_stop(act, GPUFL_BUSY, why);
    }
}

static bool act_on(struct act *act, const struct quarantined *range)
{
    char said[256];
    bool retry = act->to != NULL;
    gpufl_status status = retry ? quarantine_offer(act->engine, &act->transport, range,
                                                   act->window_headers, said)
                                : GPUFL_OK;
    if (status == GPUFL_ERR_CONTACT || status == GPUFL_ERR_AUTH || status == GPUFL_BUSY) {
        act_stop(act, status, said);
        return false;
    }
    if (status != GPUFL_OK) {
        message_line("gpufl quarantine", "%s: %s%s", range->name,
                     status == GPUFL_PARTIAL ? "still rejected: " : "", said);
        act->left++;
        return false;
    }
    if (quarantine_release(act->engine, range, retry) != GPUFL_OK) {
        quarantine_choice_fail(EXIT_NOT_ALL, range->name,
                               "the journal cannot be written");
        act->left++;
        return false;
    }
    printf("%s  %s %s: %s\n", range->name, range->path, range->channel,
           retry ? "stored" : "given up");
    act->done++;
    return true;
}

static bool act_at(const void *from, size_t index, struct quarantined *out)
{
    const struct act *act = from;
    return quarantine_at(act->engine, index, out);
}

static int act_on_chosen(struct act *act)
{
    struct quarantined range;
    int rc = quarantine_choice_missing(act->choice, act_at, act);
    for (size_t i = 0; !act->stopped && act_at(act, i, &range);) {
        bool gone = quarantine_choice_has(act->choice, &range) && act_on(act, &range);
        i += !gone; /* else the next one has moved to its place */
    }
    if (act->stopped && !act->done && !act->left) {
        return EXIT_BAD_USE;
    }
    return act->stopped || act->left ? EXIT_NOT_ALL : rc;
}

int quarantine_act_retry(const struct quarantine_choice *choice,
                         const struct transport_http_config *backend)
{
    struct act act = {.choice = choice, .to = backend};
    char why[512];
    gpufl_status status = transport_http_open(backend, &act.transport, why);
    if (status == GPUFL_OK) {
        upload_flags_say_unused("gpufl quarantine", backend);
        transport_http_identity(&act.transport, &act.backend);
        status = act_open(&act, why);
    }
    bool none = status == GPUFL_OK && quarantine_choice_of_none(choice, act_at, &act);
    if (status == GPUFL_OK && !none) {
        status = act_check_backend(&act, backend, why);
    }
    int rc = none ? EXIT_ALL_DONE : EXIT_BAD_USE;
    if (status == GPUFL_OK && !none) {
        act_ask_windows(&act);
        rc = act_on_chosen(&act);
    } else if (!none) {
        act_say(why);
    }
    engine_close(act.engine);
    transport_http_close(&act.transport);
    return rc;
}

int quarantine_act_drop(const struct quarantine_choice *choice)
{
    struct act act = {.choice = choice};
    char why[512];
    int rc = EXIT_BAD_USE;
    if (act_open(&act, why) == GPUFL_OK) {
        rc = quarantine_choice_of_none(choice, act_at, &act) ? EXIT_ALL_DONE
                                                             : act_on_chosen(&act);
    } else {
        act_say(why);
    }
    engine_close(act.engine);
    return rc;
}
