/* SPDX-License-Identifier: Apache-2.0 */
/* Builds transport, engine, watcher and listener from the options, in that order. */
#include "agent/loop_open.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/confine.h"
#include "agent/engine_options.h"
#include "agent/folders.h"
#include "agent/loop_folders.h"
#include "agent/loop_listen.h"
#include "agent/options/option_find.h"
#include "agent/options/option_value.h"
#include "agent/watch/watch_places.h"
#include "upload/engine/reopen.h"

/* Other users choose ids. */
static uint32_t any_seed(void)
{
    uint32_t seed;
    sys_real.random(&seed, sizeof seed);
    return seed;
}

static void ignore_known(struct loop *loop, const char *session_id)
{
    size_t len = strlen(session_id) + 1;
    struct path_node *node = path_table_find(&loop->ignored_known, session_id)
                                 ? NULL
                                 : malloc(sizeof *node + len);
    if (node) {
        node->path = memcpy(node + 1, session_id, len);
        if (!path_table_add(&loop->ignored_known, node)) {
            free(node);
        }
    }
}

static void forget_known(void *arg, struct path_node *node)
{
    path_table_remove(arg, node);
    free(node);
}

/* Before it runs, it is asked for the sessions that the journals know: they have begun
 * before, wherever their directories are now. */
static bool not_ignored(void *arg, const char *session_id)
{
    struct loop *loop = arg;
    if (!loop->running) {
        ignore_known(loop, session_id);
        return false;
    }
    return !select_has(&loop->ignored, session_id) &&
           !path_table_find(&loop->ignored_known, session_id);
}

/* What is made in it is noticed, as in the root. */
static void watch_group(void *arg, unsigned root, const char *root_path,
                        const char *group)
{
    struct loop *loop = arg;
    if (loop->watch) {
        watch_request(loop->watch, root, root_path, group, ASK_WATCH_GROUP);
    }
}

static gpufl_status open_loop_engine(struct loop *loop, char why[512])
{
    const struct options *o = loop->options;
    struct engine_config config;
    engine_options(o, &config);
    config.log = &loop->log;
    config.transport = loop->start.transport;
    config.backend = &loop->backend;
    transport_http_identity(&loop->start.transport, &loop->backend);
    config.imported = loop->start.imported;
    config.group_listed = watch_group;
    config.group_listed_arg = loop;
    if (o->ignore_preexisting) {
        loop->ignored_known.seed = any_seed();
        config.wanted = not_ignored;
        config.wanted_arg = loop;
    }
    if (config.memory_state) {
        log_warn(&loop->log, "state.memory",
                 "note=\"no journal is kept: after a restart, lines are sent twice, "
                 "unless the "
                 "backend knows positions\"");
    }
    gpufl_status status = sync_thread_open(config.sys, config.transport.wakeup,
                                           config.transport.self, &loop->syncs);
    if (status == GPUFL_OK) {
        config.syncer = sync_thread_syncer(loop->syncs);
        status = engine_open(&config, &loop->engine);
    }
    if (status != GPUFL_OK) {
        snprintf(why, 512, "cannot start the uploader: %s", gpufl_status_text(status));
    }
    return status;
}

static gpufl_status open_watch(struct loop *loop, bool have_inotify)
{
    const struct options *o = loop->options;
    bool remote = folders_any_remote(o->folder) || folders_any_remote(o->folders);
    bool use = o->watch == WATCH_INOTIFY || (o->watch == WATCH_AUTO && !remote);
    if (use && !have_inotify) { /* WATCH_AUTO: start_open has refused the other */
        log_warn(&loop->log, "watch.poll",
                 "note=\"inotify is not available; polling every second\"");
        use = false;
    }
    if (!use) {
        engine_poll(loop->engine, LOOP_POLL_MS);
        return GPUFL_OK;
    }
    return watch_open(&loop->log, engine_options_gather_ms(o), watch_places_max(),
                      loop->start.transport.wakeup, loop->start.transport.self,
                      &loop->watch);
}

static bool came_from_flag(const struct options *o, size_t at)
{
    return o->source[option_of_field(at) - option_rows] == SOURCE_FLAG;
}

static void warn_of_exposure(const struct loop *loop)
{
    enum exposure exposure = transport_http_exposure(&loop->start.transport);
    if (token_value(&loop->start.token)[0] &&
        (exposure == EXPOSURE_PRIVATE || exposure == EXPOSURE_PUBLIC)) {
        log_warn(&loop->log, "host.unencrypted",
                 "host=%s note=\"the API key is sent over plain HTTP and can be read on "
                 "the network\"",
                 loop->options->host);
    }
    if (came_from_flag(loop->options, offsetof(struct options, token))) {
        log_warn(&loop->log, "token.on_command_line",
                 "note=\"it was visible to other users until now; use --token-file, a "
                 "systemd credential named token, or GPUFL_HTTP_TOKEN instead\"");
    }
}

static void note_start_time(struct loop *loop)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    loop->start_time_s = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

gpufl_status loop_open(struct loop *loop, bool have_inotify, char why[512])
{
    const struct options *o = loop->options;
    struct start_mode mode = {
        .log = &loop->log, .have_inotify = have_inotify, .state = STATE_MAKE};
    gpufl_status status = start_open(o, &mode, &loop->start, why);
    note_start_time(loop);
    if (status == GPUFL_BUSY) {
        status = GPUFL_OK; /* loop_listen() says it */
        why[0] = '\0';
    }
    if (status == GPUFL_OK) {
        warn_of_exposure(loop);
    }
    status = status == GPUFL_OK ? open_loop_engine(loop, why) : status;
    status = status == GPUFL_OK ? loop_add_folders(loop, o->folder, why) : status;
    status = status == GPUFL_OK ? loop_add_folders(loop, o->folders, why) : status;
    if (status == GPUFL_OK && confine_is_on(loop->start.confined)) {
        engine_bind(loop->engine); /* a late folder is covered by a rule for a directory
                                      above it */
    }
    status = status == GPUFL_OK ? open_watch(loop, have_inotify) : status;
    status = status == GPUFL_OK ? loop_listen(loop, why) : status;
    if (status != GPUFL_OK) {
        option_blame_source(o, why);
    }
    return status;
}

void loop_close(struct loop *loop)
{
    listener_close(loop->listener);
    notify_close(&loop->notify);
    watch_close(loop->watch);
    engine_close(loop->engine);
    sync_thread_close(loop->syncs);
    start_close(&loop->start);
    free(loop->missing);
    free(loop->served);
    free(loop->refused);
    select_free(&loop->ignored);
    path_table_each(&loop->ignored_known, forget_known, &loop->ignored_known);
    path_table_close(&loop->ignored_known);
    if (loop->signal_fd >= 0) {
        close(loop->signal_fd);
    }
}
