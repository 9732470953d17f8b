/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the engine on the calling thread, within a budget: gpufl_upload_logs(). */
#include "upload/upload_logs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/held_floats.h"
#include "base/held_signals.h"
#include "base/message.h"
#include "base/parse_bool.h"
#include "upload/engine/awaited_end.h"
#include "upload/engine/closed_own.h"
#include "upload/holder_left.h"
#include "upload/http/transport_http.h"
#include "upload/published/progress_file.h"
#include "upload/source/session_root.h"
#include "upload/upload_beside.h"
#include "upload/upload_closed.h"
#include "upload/upload_open.h"
#include "upload/upload_result.h"

#define PROGRESS_EVERY_MS 250u
#define CHECK_EVERY_MS    50u

/* Of libgpufl, if the process has it: switching that off switches uploads off, too. */
__attribute__((weak)) bool gpufl_is_disabled(void);

static bool is_disabled(void)
{
    return parse_bool(getenv("GPUFL_DISABLED")) ||
           (gpufl_is_disabled && gpufl_is_disabled());
}

static void on_log(void *arg, enum log_level level, const char *line)
{
    struct upload *u = arg;
    upload_result_warn(u->result, line);
    if (u->options.diagnostic) {
        u->options.diagnostic(u->options.diagnostic_arg, level == LOG_AT_ERROR ? 0 : 1,
                              line);
    }
}

/* It may have been meant to switch uploads off. */
static void upload_warn_of_switch(struct upload *u)
{
    const char *value = getenv("GPUFL_DISABLED");
    bool disabled;
    char line[300];
    if (value && *value && !parse_switch(value, &disabled)) {
        snprintf(line, sizeof line,
                 "GPUFL_DISABLED: invalid value '%.*s%s': ignored "
                 "(expected " PARSE_SWITCH_WORDS ")",
                 MESSAGE_VALUE(value, 60));
        on_log(u, LOG_AT_WARN, line);
    }
}

static void tell_progress(struct upload *u, bool last)
{
    uint64_t now_ms = sys_real.now_ms();
    if (!u->options.progress || (!last && now_ms - u->told_ms < PROGRESS_EVERY_MS)) {
        return;
    }
    struct engine_summary s;
    engine_summary(u->engine, &s);
    struct gpufl_upload_progress progress = {
        .lines_uploaded = s.lines_acked,
        .bytes_uploaded = s.file_bytes_acked,
        .bytes_total = u->bytes_total,
        .sessions = s.sessions,
        .sessions_complete = s.sessions_done - s.sessions_lacking,
        .elapsed_ms = (int64_t)(now_ms - u->start_ms),
    };
    u->told_ms = now_ms;
    u->options.progress(u->options.progress_arg, &progress);
}

/* True when it makes no sense to continue: a person must act, or nobody answers. */
static bool give_up(const struct upload *u, const struct engine_summary *s)
{
    unsigned most = (unsigned)u->options.max_retries;
    return s->hold != HOLD_NONE || (most && s->failures_in_row > most) ||
           (s->streams_stuck > 0 && s->streams_stuck == s->streams_pending && most &&
            s->stuck_failures > most);
}

/* Anybody can make a session that cannot be sent, and change it all the time, in a
 * directory that users share: it is not waited for until the time limit, but while what
 * was there of it at first is compared. */
static bool upload_is_left_to_others(struct upload *u, const struct engine_summary *s,
                                     uint64_t now_ms)
{
    char which[sizeof u->others];
    uint64_t progress = s->lines_acked + s->windows_acked + s->lines_rejected +
                        s->lines_refused_final + s->ranges_quarantined +
                        s->sessions_done + s->compared_bytes;
    bool busy = s->in_flight || s->failures_in_row || !s->ever_answered;
    if (!engine_left_to_others(u->engine, which) || busy ||
        progress != u->others_progress || !u->others_since_ms) {
        u->others_progress = progress;
        u->others_since_ms = now_ms;
    }
    bool left = now_ms - u->others_since_ms >= UPLOAD_OTHERS_WAIT_MS;
    if (left) {
        snprintf(u->others, sizeof u->others, "%s", *which ? which : "other users");
    }
    return left;
}

static void upload_until_done(struct upload *u)
{
    struct engine_summary summary;
    uint64_t check_ms = 0;
    for (;;) {
        uint64_t wait_ms = engine_turn(u->engine);
        uint64_t now_ms = sys_real.now_ms();
        tell_progress(u, false);
        bool drained = engine_drained(u->engine);
        u->over = !drained && now_ms >= u->deadline_ms;
        if (drained || u->over) {
            break;
        }
        if (now_ms >= check_ms) { /* not at every turn: it visits all sessions */
            check_ms = now_ms + CHECK_EVERY_MS;
            engine_summary(u->engine, &summary);
            if (give_up(u, &summary) || upload_is_left_to_others(u, &summary, now_ms)) {
                break;
            }
        }
        uint64_t left = u->deadline_ms - now_ms;
        wait_ms = wait_ms < left ? wait_ms : left;
        wait_ms = wait_ms < CHECK_EVERY_MS ? wait_ms : CHECK_EVERY_MS;
        u->transport.poll(u->transport.self, wait_ms, -1);
    }
    tell_progress(u, true);
}

/* Its state may be elsewhere: only what it tells of its progress is found here. */
static bool upload_holder_knows_unfinished(const struct upload *u)
{
    char holder[128];
    struct engine_summary left = {0};
    if (u->options.all_sessions &&
        progress_holder(&sys_real, u->root, holder, sizeof holder)) {
        holder_left_count(&sys_real, u->root, &u->selection, &left);
    }
    return left.sessions_away > 0;
}

static gpufl_status check_and_open(struct upload *u)
{
    char why[512];
    gpufl_status status = upload_options_check(&u->options, u->name, why);
    return status == GPUFL_OK ? upload_open_transport(u)
                              : upload_result_say(u->result, status, "%s", why);
}

/* A job may have recorded nothing. But sessions that lie deeper were meant. */
static gpufl_status upload_say_none(struct upload *u)
{
    const char *path = u->options.log_path;
    char why[512];
    if (session_depth_of(&sys_real, path, why) == SESSION_DEPTH_BELOW &&
        !upload_knows_any(u)) {
        return upload_result_say(u->result, GPUFL_ERR_USAGE, "%s: %s",
                                 upload_options_name(u->name, "log_path"), why);
    }
    return upload_result_say(
        u->result, GPUFL_OK,
        "nothing to send: no session in %.300s (" SESSION_DEPTH_EXPECTED ")", path);
}

static gpufl_status upload_send_selected(struct upload *u)
{
    struct engine_summary summary;
    char why[512];
    /* First, so that what cannot work is said with nothing to send, too. */
    gpufl_status status = check_and_open(u);
    if (status == GPUFL_OK) {
        status = upload_open_root(u);
    }
    if (status == GPUFL_OK) {
        status = upload_open_sessions(u);
    }
    if (status == GPUFL_OK && u->selection.count == 0) {
        status = upload_try_state(u);
    }
    if (status == GPUFL_OK && u->selection.count == 0 && !upload_knows_unfinished(u) &&
        !upload_holder_knows_unfinished(u)) {
        return upload_say_none(u);
    }
    if (status != GPUFL_OK) {
        return status;
    }
    status = upload_open_engine(u, why);
    bool busy = status == GPUFL_BUSY;
    if (busy) {
        status = upload_beside(u, why);
    }
    if (status != GPUFL_OK || (busy && !u->engine)) {
        return busy ? status : upload_result_say(u->result, status, "%s", why);
    }
    upload_until_done(u);
    engine_summary(u->engine, &summary);
    closed_own_count(u->engine, &summary);
    awaited_end_note(u->engine, &summary);
    struct upload_result_words words;
    upload_result_words_of(&u->options, u->name, u->over, &words);
    words.others = u->others;
    status = upload_result_judge(u->result, &summary, engine_drained(u->engine), &words);
    if (status == GPUFL_OK && u->selection.unread) {
        return upload_result_say(u->result, GPUFL_PARTIAL,
                                 "not everything was sent: there was no time to look at "
                                 "%zu directories of other users (%s)",
                                 u->selection.unread, words.longer);
    }
    return status;
}

static gpufl_status upload_selected(struct upload *u)
{
    gpufl_status status = upload_send_selected(u);
    return status == GPUFL_OK ? upload_closed(u) : status;
}

gpufl_status upload_logs_named(const struct gpufl_upload_options *options,
                               const char *(*name)(const char *field),
                               struct gpufl_upload_result *result)
{
    struct gpufl_upload_result full = GPUFL_UPLOAD_RESULT_INIT;
    struct upload u = {.name = name, .result = &full, .root = -1};
    gpufl_status status = GPUFL_OK;
    u.start_ms = sys_real.now_ms();
    upload_options_resolve(options, &u.options);
    u.deadline_ms =
        u.start_ms +
        (uint64_t)(u.options.total_timeout_ms > 0 ? u.options.total_timeout_ms : 1);
    u.log = (struct log){.level = LOG_AT_WARN, .write = on_log, .arg = &u};
    upload_warn_of_switch(&u);
    if (is_disabled()) {
        static const char text[] =
            "gpufl is switched off, by GPUFL_DISABLED or by the program: nothing is "
            "uploaded";
        on_log(&u, LOG_AT_WARN, text);
        upload_result_say(u.result, status, "%s", text);
    } else {
        status = upload_selected(&u);
    }
    int reason = errno;
    engine_close(u.engine);
    transport_http_close(&u.transport);
    select_free(&u.selection);
    if (u.root >= 0) {
        close(u.root);
    }
    errno = reason;
    full.success = status == GPUFL_OK;
    full.elapsed_ms = (int64_t)(sys_real.now_ms() - u.start_ms);
    upload_result_copy(&full, result);
    return status;
}

gpufl_status upload_logs_check(const struct gpufl_upload_options *options,
                               const char *(*name)(const char *field),
                               struct gpufl_upload_result *result)
{
    struct upload u = {.name = name, .result = result, .root = -1};
    upload_options_resolve(options, &u.options);
    gpufl_status status = check_and_open(&u);
    transport_http_close(&u.transport);
    return status;
}

gpufl_status gpufl_upload_logs(const struct gpufl_upload_options *options,
                               struct gpufl_upload_result *result)
{
    static const int may_come[] = {SIGXFSZ, 0}; /* the journal may not grow */
    struct held_signals held;
    struct held_floats floats;
    held_floats_begin(&floats);
    held_signals_begin(&held, may_come);
    gpufl_status status = upload_logs_named(options, NULL, result);
    int reason = errno;
    held_signals_end(&held, SIGXFSZ);
    held_floats_end(&floats);
    errno = reason;
    return status;
}
