/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the engine, woken by inotify, the sync thread, sockets and signals. */
#include "agent/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "agent/engine_options.h"
#include "agent/folders.h"
#include "agent/sync_thread.h"
#include "agent/token.h"
#include "agent/watch.h"
#include "upload/select.h"
#include "upload/transport_http.h"

#define POLL_RESCAN_MS   1000u
#define DRAIN_CHECK_MS   1000u
#define MISSING_CHECK_MS 500u

struct loop {
    const struct options *options;
    struct log log;
    struct transport transport;
    struct sync_thread *syncs;
    struct watch *watch;
    struct engine *engine;
    struct selection ignored; /* sessions that were there before us */
    struct java_cursor *imported;
    char *missing; /* folders that were not there yet, comma-separated */
    uint64_t missing_check_ms;
    struct token token;
    int signal_fd;
    bool running;
    bool draining;
    bool stop_now;
    uint64_t drain_deadline_ms;
    uint64_t next_check_ms;
    unsigned drained_checks;
};

static void wake(void *arg)
{
    struct loop *loop = arg;
    loop->transport.wakeup(loop->transport.self);
}

/* ---- opening ---- */

static int fail(const char *why)
{
    fprintf(stderr, "gpufl-agent: %s\n", why);
    return 1;
}

static bool not_ignored(void *arg, const char *session_id)
{
    return !select_has(&((struct loop *)arg)->ignored, session_id);
}

static gpufl_status open_engine(struct loop *loop, char why[512])
{
    const struct options *o = loop->options;
    struct engine_config config;
    engine_options(o, &config);
    config.log = &loop->log;
    config.transport = loop->transport;
    config.imported = loop->imported;
    if (o->ignore_preexisting) {
        config.wanted = not_ignored;
        config.wanted_arg = loop;
    }
    if (config.memory_state) {
        log_warn(&loop->log, "state.memory",
                 "note=\"after a restart lines are sent twice\"");
    }
    gpufl_status status = sync_thread_open(config.sys, wake, loop, &loop->syncs);
    if (status == GPUFL_OK) {
        config.syncer = sync_thread_syncer(loop->syncs);
        status = engine_open(&config, &loop->engine);
    }
    if (status != GPUFL_OK) {
        snprintf(why, 512, "out of memory");
    }
    return status;
}

/* A sidecar may start before the job's first run; a run with an end does not wait. */
static gpufl_status add_missing(struct loop *loop, const char *path, char why[512])
{
    char *more = NULL;
    if (loop->options->exit_when_drained ||
        asprintf(&more, "%s%s,", loop->missing ? loop->missing : "", path) < 0) {
        snprintf(why, 512, "cannot open the directory %.300s: it is not there", path);
        return GPUFL_ERR_NOT_FOUND;
    }
    if (!loop->running) {
        log_warn(&loop->log, "folder.missing", "folder=%s note=\"waiting for it\"", path);
    }
    free(loop->missing);
    loop->missing = more;
    return GPUFL_OK;
}

static gpufl_status add_folders(struct loop *loop, const char *list, char why[512])
{
    struct engine_channels channels;
    char path[4096];
    gpufl_status status = folders_read_channels(loop->options->log_types, &channels, why);
    while (status == GPUFL_OK && list && *list) {
        list += strspn(list, ",");
        size_t len = strcspn(list, ",");
        if (len == 0) {
            break;
        }
        snprintf(path, sizeof path, "%.*s", (int)len, list);
        list += len;
        if (access(path, F_OK) < 0 && errno == ENOENT) {
            status = add_missing(loop, path, why);
            continue;
        }
        if (loop->options->ignore_preexisting && !loop->running) {
            status = folders_list(path, &loop->ignored);
        }
        if (status == GPUFL_OK) {
            status = engine_add_root(loop->engine, path, &channels, why);
        } else {
            snprintf(why, 512, "cannot list %.300s", path);
        }
    }
    return status;
}

static gpufl_status open_watch(struct loop *loop, bool have_inotify, char why[512])
{
    const struct options *o = loop->options;
    bool remote = folders_any_remote(o->folder) || folders_any_remote(o->folders);
    bool use = o->watch == WATCH_INOTIFY || (o->watch == WATCH_AUTO && !remote);
    if (use && !have_inotify) {
        if (o->watch == WATCH_INOTIFY) {
            snprintf(why, 512,
                     "--watch=inotify: the kernel gives no inotify instance; "
                     "raise fs.inotify.max_user_instances or use --watch=auto");
            return GPUFL_ERR_IO;
        }
        log_warn(&loop->log, "watch.poll",
                 "note=\"no inotify instance; polling every "
                 "second\"");
        use = false;
    }
    if (!use) {
        engine_poll(loop->engine, POLL_RESCAN_MS);
        return GPUFL_OK;
    }
    return watch_open(&loop->log, engine_options_gather_ms(o), wake, loop, &loop->watch);
}

/* ---- running ---- */

static void want(void *arg, unsigned root, const char *root_path, const char *session,
                 bool done)
{
    struct loop *loop = arg;
    watch_want(loop->watch, root, root_path, session, done);
}

static void follow_hint(struct engine *engine, const struct watch_hint *hint)
{
    switch (hint->what) {
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
        log_warn(&loop->log, "watch.overflow",
                 "note=\"events were lost; looking at "
                 "everything\"");
        engine_rescan(loop->engine);
    }
    if (watch_incomplete(loop->watch)) {
        engine_poll(loop->engine, POLL_RESCAN_MS);
    }
    engine_visit_changed(loop->engine, want, loop);
}

static void look_for_missing(struct loop *loop, uint64_t now_ms)
{
    char *rest;
    if (!loop->missing || now_ms < loop->missing_check_ms) {
        return;
    }
    char *list = loop->missing;
    loop->missing = NULL;
    loop->missing_check_ms = now_ms + MISSING_CHECK_MS;
    for (char *path = strtok_r(list, ",", &rest); path;
         path = strtok_r(NULL, ",", &rest)) {
        char why[512] = "";
        if (add_folders(loop, path, why) != GPUFL_OK) { /* said; the others go on */
            log_error(&loop->log, "folder.refused", "reason=\"%s\"", why);
        }
    }
    free(list);
}

static void on_signal(struct loop *loop, uint64_t now_ms)
{
    struct signalfd_siginfo info;
    while (read(loop->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (loop->draining) {
            loop->stop_now = true;
            continue;
        }
        log_info(&loop->log, "agent.draining", "signal=%u timeout_ms=%llu",
                 info.ssi_signo, (unsigned long long)loop->options->drain_timeout_ms);
        loop->draining = true;
        loop->drain_deadline_ms = now_ms + loop->options->drain_timeout_ms;
        engine_flush(loop->engine);
    }
}

/* A key that was refused may have been replaced on disk. */
static void refresh_token(struct loop *loop)
{
    if (engine_holding(loop->engine) == HOLD_AUTH && token_reload(&loop->token)) {
        log_info(&loop->log, "token.reloaded", "file=%s", loop->options->token_file);
        transport_http_set_token(&loop->transport, token_value(&loop->token));
        engine_retry_now(loop->engine);
    }
}

/* True when the loop is to end. */
static bool finished(struct loop *loop, uint64_t now_ms)
{
    const struct options *o = loop->options;
    struct engine_summary summary;
    if (loop->stop_now) {
        return true;
    }
    if (loop->draining &&
        (engine_drained(loop->engine) || now_ms >= loop->drain_deadline_ms)) {
        return true;
    }
    if (now_ms < loop->next_check_ms) {
        return false;
    }
    loop->next_check_ms = now_ms + DRAIN_CHECK_MS;
    refresh_token(loop);
    if (!o->exit_when_drained) {
        return false;
    }
    engine_summary(loop->engine, &summary);
    bool none = summary.sessions == 0;
    bool drained = engine_drained(loop->engine) && summary.sessions_live == 0;
    if (none && o->exit_if_empty && engine_drained(loop->engine)) {
        return true;
    }
    loop->drained_checks = drained && !none ? loop->drained_checks + 1 : 0;
    if (loop->drained_checks == 1) {
        engine_rescan(loop->engine);
    }
    return loop->drained_checks >= 2;
}

static uint64_t shorter(uint64_t wait_ms, uint64_t until_ms, uint64_t now_ms)
{
    uint64_t left = until_ms > now_ms ? until_ms - now_ms : 0;
    return wait_ms < left ? wait_ms : left;
}

static void run(struct loop *loop)
{
    loop->running = true;
    for (;;) {
        look_for_missing(loop, sys_real.now_ms());
        follow_watch(loop);
        on_signal(loop, sys_real.now_ms()); /* before the turn: it looks once more */
        uint64_t wait_ms = engine_turn(loop->engine);
        uint64_t now_ms = sys_real.now_ms();
        if (finished(loop, now_ms)) {
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
        loop->transport.poll(loop->transport.self, wait_ms, loop->signal_fd);
    }
}

static void say_what_is_left(const struct loop *loop)
{
    struct engine_summary s;
    engine_summary(loop->engine, &s);
    log_line(&loop->log, s.streams_pending ? LOG_AT_WARN : LOG_AT_INFO, "agent.stopped",
             "sent_lines=%llu complete=%u unsent_channels=%u quarantined=%llu%s",
             (unsigned long long)s.lines_acked, s.sessions_done, s.streams_pending,
             (unsigned long long)s.ranges_quarantined,
             s.streams_pending ? " note=\"the rest is sent after the next start\"" : "");
}

static void close_loop(struct loop *loop)
{
    watch_close(loop->watch);
    engine_close(loop->engine);
    sync_thread_close(loop->syncs);
    transport_http_close(&loop->transport);
    java_cursor_close(loop->imported);
    free(loop->missing);
    select_free(&loop->ignored);
    token_fini(&loop->token);
    if (loop->signal_fd >= 0) {
        close(loop->signal_fd);
    }
}

static gpufl_status open_loop(struct loop *loop, bool have_inotify, char why[512])
{
    const struct options *o = loop->options;
    gpufl_status status = token_open(&loop->token, o->token, o->token_file, why);
    status = status == GPUFL_OK ? engine_options_transport(o, token_value(&loop->token),
                                                           &loop->transport, why)
                                : status;
    status = status == GPUFL_OK
                 ? engine_options_cursor(o, &loop->log, &loop->imported, why)
                 : status;
    status = status == GPUFL_OK ? open_engine(loop, why) : status;
    status = status == GPUFL_OK ? add_folders(loop, o->folder, why) : status;
    status = status == GPUFL_OK ? add_folders(loop, o->folders, why) : status;
    return status == GPUFL_OK ? open_watch(loop, have_inotify, why) : status;
}

int loop_run(const struct options *options, bool have_inotify)
{
    struct loop loop = {.options = options, .signal_fd = -1};
    char why[512] = "";
    int rc = 0;
    sigset_t stop;
    loop.log =
        (struct log){.level = (enum log_level)options->log_level, .write = log_to_stderr};
    sigemptyset(&stop);
    sigaddset(&stop, SIGTERM);
    sigaddset(&stop, SIGINT);
    loop.signal_fd = signalfd(-1, &stop, SFD_NONBLOCK | SFD_CLOEXEC);
    gpufl_status status = open_loop(&loop, have_inotify, why);
    if (status == GPUFL_OK) {
        log_info(&loop.log, "agent.started", "version=%s host=%s watch=%s", GPUFL_VERSION,
                 options->host, loop.watch ? "inotify" : "poll");
        run(&loop);
        say_what_is_left(&loop);
        if (!engine_drained(loop.engine) && loop.draining) {
            _exit(0); /* time is over: a sync that hangs is not waited for */
        }
    } else {
        rc = fail(why[0] ? why : gpufl_status_text(status));
    }
    close_loop(&loop);
    return rc;
}
