/* SPDX-License-Identifier: Apache-2.0 */
/* From the options to what the loop turns, and back. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/confine.h"
#include "agent/engine_options.h"
#include "agent/folders.h"
#include "agent/loop_internal.h"

#define POLL_RESCAN_MS 1000u

static void wake(void *arg)
{
    struct loop *loop = arg;
    loop->transport.wakeup(loop->transport.self);
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

gpufl_status loop_add_folders(struct loop *loop, const char *list, char why[512])
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

static void warn_of_exposure(const struct loop *loop)
{
    enum exposure exposure = transport_http_exposure(&loop->transport);
    if (token_value(&loop->token)[0] &&
        (exposure == EXPOSURE_PRIVATE || exposure == EXPOSURE_PUBLIC)) {
        log_warn(&loop->log, "host.unencrypted",
                 "host=%s note=\"the API key goes over plain http: whoever is on the way "
                 "can read it\"",
                 loop->options->host);
    }
    if (loop->options->token_flag) {
        log_warn(&loop->log, "token.on_command_line",
                 "note=\"it was visible to other users until now; use --token-file, a "
                 "systemd credential named token, or GPUFL_HTTP_TOKEN\"");
    }
}

static gpufl_status open_listener(struct loop *loop, char why[512])
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    loop->start_time_s = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
    if (!loop->options->listen || !*loop->options->listen) {
        return GPUFL_OK;
    }
    gpufl_status status =
        listener_open(loop->options->listen, wake, loop, &loop->listener, why);
    if (status == GPUFL_OK) {
        log_info(&loop->log, "agent.listening", "port=%u", listener_port(loop->listener));
    }
    return status;
}

gpufl_status loop_open(struct loop *loop, bool have_inotify, char why[512])
{
    const struct options *o = loop->options;
    gpufl_status status = token_open(&loop->token, o->token, o->token_file, why);
    status = status == GPUFL_OK ? engine_options_transport(o, token_value(&loop->token),
                                                           &loop->transport, why)
                                : status;
    if (status == GPUFL_OK) { /* before the first thread */
        status = confine(o, loop->confined);
        snprintf(why, 512, "%s", status == GPUFL_OK ? "" : loop->confined);
    }
    if (status == GPUFL_OK) {
        warn_of_exposure(loop);
    }
    status = status == GPUFL_OK
                 ? engine_options_cursor(o, &loop->log, &loop->imported, why)
                 : status;
    status = status == GPUFL_OK ? open_engine(loop, why) : status;
    status = status == GPUFL_OK ? loop_add_folders(loop, o->folder, why) : status;
    status = status == GPUFL_OK ? loop_add_folders(loop, o->folders, why) : status;
    status = status == GPUFL_OK ? open_watch(loop, have_inotify, why) : status;
    return status == GPUFL_OK ? open_listener(loop, why) : status;
}

void loop_close(struct loop *loop)
{
    listener_close(loop->listener);
    notify_close(&loop->notify);
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
