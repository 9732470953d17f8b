/* SPDX-License-Identifier: Apache-2.0 */
/* The main loop: runs the engine when inotify, the sync thread, a socket or a signal
 * wakes it, or when its time has come. */
#include "agent/loop.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "agent/engine_options.h"
#include "agent/loop_folders.h"
#include "agent/loop_listen.h"
#include "agent/loop_open.h"
#include "agent/loop_report.h"
#include "agent/options/option_unused.h"
#include "agent/options/reload.h"
#include "agent/options/unread_env.h"
#include "base/message.h"
#include "upload/engine/reopen.h"

#define DRAIN_CHECK_MS 1000u
#define DRAINED_CHECKS 2u
#define AWAY_CHECKS    5u    /* what is in a folder's place may come late */
#define STOP_SPARE_MS  5000u /* for the last syncs after the drain */

static void watch_session(void *arg, unsigned root, const char *root_path,
                          const char *session, bool done)
{
    struct loop *loop = arg;
    watch_request(loop->watch, root, root_path, session, done ? ASK_UNWATCH : ASK_WATCH);
}

static void follow_hint(struct engine *engine, const struct watch_hint *hint)
{
    switch (hint->what) {
    case HINT_NOTHING:
        break;
    case HINT_GREW:
        engine_grew(engine, hint->root, hint->session, hint->file);
        break;
    case HINT_CHANGED:
        engine_touch(engine, hint->root, hint->session);
        break;
    case HINT_UNWATCHED:
        engine_unwatched(engine, hint->root, hint->session);
        break;
    }
    if (hint->told != TOLD_NOTHING && hint->what != HINT_UNWATCHED) {
        engine_note_watch(engine, hint->root, hint->session, hint->told == TOLD_WATCHED);
    }
}

static void follow_watch(struct loop *loop)
{
    const struct watch_hint *hint;
    if (!loop->watch) {
        return;
    }
    for (size_t n = watch_take(loop->watch, &hint); n > 0; n--, hint++) {
        follow_hint(loop->engine, hint);
    }
    if (watch_overflowed(loop->watch)) {
        loop->inotify_overflows++;
        log_warn(&loop->log, "watch.overflow",
                 "note=\"inotify events were lost; scanning everything\"");
        engine_rescan(loop->engine);
    }
    if (watch_incomplete(loop->watch)) {
        engine_poll(loop->engine, LOOP_POLL_MS);
    } else {
        engine_poll_end(loop->engine);
    }
    engine_visit_changed(loop->engine, watch_session, loop);
}

static void reload_settings(struct loop *loop)
{
    char kept[512];
    char why[512];
    if (reload_options(loop->argc, loop->argv, loop->options, kept, why) != GPUFL_OK) {
        log_error(&loop->log, "agent.not_reloaded",
                  "reason=\"%s\" note=\"no setting was changed\"", why);
        return;
    }
    loop->log.level = loop->options->log_level;
    log_sink_set_json(&loop->sink, loop->options->log_format == LOG_FORMAT_JSON);
    engine_set_pace(loop->engine, engine_options_flush_ms(loop->options),
                    (unsigned)loop->options->max_requests_per_second);
    loop->next_check_ms = 0; /* read the token file now */
    if (kept[0]) {
        log_warn(&loop->log, "agent.reloaded", "needs_restart=\"%s\"", kept);
    } else {
        log_info(&loop->log, "agent.reloaded", "needs_restart=none");
    }
}

static void begin_drain(struct loop *loop, unsigned signal, uint64_t now_ms)
{
    char text[96];
    uint64_t timeout_ms = loop->options->drain_timeout_ms;
    log_info(&loop->log, "agent.draining", "signal=%u timeout_ms=%llu", signal,
             (unsigned long long)timeout_ms);
    snprintf(text, sizeof text, "STOPPING=1\nEXTEND_TIMEOUT_USEC=%llu",
             (unsigned long long)(timeout_ms + STOP_SPARE_MS) * 1000);
    notify_send(&loop->notify, text);
    loop->draining = true;
    loop->drain_deadline_ms = now_ms + timeout_ms;
    loop->next_check_ms = 0; /* the next start would take a key that came now for another
                                backend's */
    engine_flush(loop->engine);
}

static void on_signal(struct loop *loop, uint64_t now_ms)
{
    struct signalfd_siginfo info;
    while (read(loop->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGHUP) {
            reload_settings(loop);
        } else if (loop->draining) {
            loop->stop_now = true;
        } else {
            begin_drain(loop, info.ssi_signo, now_ms);
        }
    }
}

/* The file may have been replaced, before or after the backend refused the key. */
static void refresh_token(struct loop *loop)
{
    if (token_reload(&loop->start.token)) {
        log_info(&loop->log, "token.reloaded", "file=%s", loop->start.token.file);
        transport_http_set_token(&loop->start.transport, token_value(&loop->start.token));
        transport_http_identity(&loop->start.transport, &loop->backend);
        engine_take_key(loop->engine);
        loop->key_grace = (struct token_grace){0};
        if (engine_holding(loop->engine) == HOLD_AUTH) {
            engine_retry_now(loop->engine);
        }
    }
}

/* Something starts the agent again when it ends. */
static bool is_supervised(const struct loop *loop)
{
    return loop->notify.fd >= 0 || getpid() == 1 || getenv("KUBERNETES_SERVICE_HOST");
}

/* Rules of Landlock are bound to the directory that was there when they were made, and
 * none can be added: only a new process can serve what is in its place. */
static bool needs_new_rules(struct loop *loop)
{
    const char *root = engine_denied_root(loop->engine);
    if (!root || loop->rules_said) {
        return false;
    }
    bool ends = is_supervised(loop);
    loop->rules_said = true;
    log_error(&loop->log, "folder.confined", "folder=%s note=\"%s\"", root,
              ends ? "it was replaced, and Landlock's rules cover the directory before: "
                     "the agent ends, to be started again"
                   : "it was replaced, and Landlock's rules cover the directory before: "
                     "start the agent again");
    return ends;
}

/* What is held for the key cannot be sent, and no session will bring more. */
static bool loop_key_is_hopeless(struct loop *loop, const struct engine_summary *s,
                                 uint64_t now_ms)
{
    bool from_file = loop->start.token.file[0];
    bool over =
        token_grace_is_over(&loop->key_grace, s->hold == HOLD_AUTH, from_file, now_ms);
    if (!over || s->sessions_live) {
        return false;
    }
    log_error(&loop->log, "agent.key_refused",
              "status=%d note=\"--exit-when-drained: nothing can be sent: correct what "
              "origin.hold says, mostly the key, and start the agent again\"",
              s->hold_status);
    return true;
}

/* With --exit-when-drained: nothing is left, or nothing can be done about it. */
static bool loop_is_drained(struct loop *loop, uint64_t now_ms)
{
    struct engine_summary summary;
    engine_summary(loop->engine, &summary);
    bool none =
        summary.sessions == 0 && summary.sessions_away == 0 && summary.roots_away == 0;
    bool idle = engine_drained(loop->engine);
    bool drained = idle && summary.sessions_live == 0;
    if (none && loop->options->exit_if_empty && idle) {
        return true;
    }
    loop->drained_checks = drained && !none ? loop->drained_checks + 1 : 0;
    if (loop->drained_checks == 1) {
        engine_rescan(loop->engine);
    }
    unsigned checks = summary.roots_away ? AWAY_CHECKS : DRAINED_CHECKS;
    return loop->drained_checks >= checks || loop_key_is_hopeless(loop, &summary, now_ms);
}

/* True when the loop must end. */
static bool is_finished(struct loop *loop, uint64_t now_ms, bool checks)
{
    if (loop->stop_now) {
        return true;
    }
    if (needs_new_rules(loop)) {
        loop->replaced = true;
        return true;
    }
    if (loop->draining &&
        (engine_drained(loop->engine) || now_ms >= loop->drain_deadline_ms)) {
        return true;
    }
    return checks && loop->options->exit_when_drained && loop_is_drained(loop, now_ms);
}

/* Before the turn, which follows from the key. \return whether it is time for checks. */
static bool loop_checks(struct loop *loop, uint64_t now_ms)
{
    if (now_ms < loop->next_check_ms) {
        return false;
    }
    loop->next_check_ms = now_ms + DRAIN_CHECK_MS;
    refresh_token(loop);
    return true;
}

static uint64_t shorter(uint64_t wait_ms, uint64_t until_ms, uint64_t now_ms)
{
    uint64_t left = until_ms > now_ms ? until_ms - now_ms : 0;
    return wait_ms < left ? wait_ms : left;
}

static void run_loop(struct loop *loop)
{
    loop->running = true;
    for (;;) {
        loop_find_missing_folders(loop, sys_real.now_ms());
        loop_listen_again(loop, sys_real.now_ms());
        follow_watch(loop);
        on_signal(loop, sys_real.now_ms()); /* before the turn, which looks once more */
        bool checks = loop_checks(loop, sys_real.now_ms());
        uint64_t wait_ms = engine_turn(loop->engine);
        uint64_t now_ms = sys_real.now_ms();
        loop_report_figures(loop);
        loop_report_to_systemd(loop, now_ms);
        if (is_finished(loop, now_ms, checks)) {
            return;
        }
        if (loop->options->exit_when_drained ||
            engine_holding(loop->engine) == HOLD_AUTH) {
            wait_ms = shorter(wait_ms, loop->next_check_ms, now_ms);
        }
        if (loop->draining) {
            wait_ms = shorter(wait_ms, loop->drain_deadline_ms, now_ms);
        }
        if (loop->missing) {
            wait_ms = shorter(wait_ms, loop->missing_check_ms, now_ms);
        }
        if (loop->listen_why[0]) {
            wait_ms = shorter(wait_ms, loop->listen_at_ms, now_ms);
        }
        if (loop->notify.watchdog_ms) {
            wait_ms = shorter(wait_ms, loop->notify.watchdog_at_ms, now_ms);
        }
        loop->start.transport.poll(loop->start.transport.self, wait_ms, loop->signal_fd);
    }
}

int loop_run(struct options *options, int argc, char **argv, const sigset_t *signals,
             bool have_inotify)
{
    struct loop loop = {.options = options, .argc = argc, .argv = argv};
    char why[512] = "";
    int rc = 0;
    log_sink_init(&loop.sink, options->log_format == LOG_FORMAT_JSON);
    loop.log = (struct log){.level = options->log_level,
                            .write = log_sink_write,
                            .arg = &loop.sink,
                            .about = &loop.sink.about};
    loop.signal_fd = signalfd(-1, signals, SFD_NONBLOCK | SFD_CLOEXEC);
    if (!notify_open(&loop.notify, why)) {
        log_warn(&loop.log, "notify.off", "reason=\"%s\"", why);
        why[0] = '\0';
    }
    gpufl_status status = loop_open(&loop, have_inotify, why);
    if (status == GPUFL_OK) {
        unread_env_warn(&loop.log, environ);
        option_unused_warn(&loop.log, options);
        log_info(&loop.log, "agent.started",
                 "version=%s host=%s watch=%s landlock=\"%s\"", GPUFL_VERSION,
                 options->host, loop.watch ? "inotify" : "poll", loop.start.confined);
        notify_send(&loop.notify, "READY=1");
        run_loop(&loop);
        log_sink_flush(&loop.sink);
        rc = loop_end(&loop);
        if (!engine_drained(loop.engine) && loop.draining) {
            _exit(rc); /* out of time: do not wait for a sync that hangs */
        }
    } else {
        message_line("gpufl-agent", "%s", why[0] ? why : gpufl_status_text(status));
        rc = LOOP_CANNOT_START;
    }
    loop_close(&loop);
    log_sink_fini(&loop.sink);
    return rc;
}
