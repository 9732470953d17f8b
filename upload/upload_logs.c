/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the engine on the calling thread, within a budget: gpufl_upload_logs(). */
#include "upload/upload_logs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/parse_bool.h"
#include "schema/channels.h"
#include "upload/core/progress_file.h"
#include "upload/engine/engine.h"
#include "upload/http/transport_http.h"
#include "upload/source/select.h"
#include "upload/source/session_root.h"
#include "upload/upload_result.h"
#include "upload/wait_holder.h"

#define PROGRESS_EVERY_MS 250u
#define CHECK_EVERY_MS    50u
#define ASK_AGAIN_MS      200u
#define SILENT_HOLDER_MS  5000u /* how long one that shows no progress is waited for */
#define NO_RESCAN_MS      (24u * 3600u * 1000u)

/* Of libgpufl, if the process has it: switching that off switches uploads off, too. */
__attribute__((weak)) bool gpufl_is_disabled(void);

/* One call. */
struct upload {
    struct gpufl_upload_options options;
    const char *(*name)(const char *field); /* what the user calls them */
    struct gpufl_upload_result *result;
    struct selection selection;
    struct log log;
    struct transport transport;
    struct origin_identity backend;
    struct engine *engine;
    int root;
    uint64_t start_ms, deadline_ms;
    uint64_t told_ms;
    uint64_t bytes_total;
    bool over; /* the time limit was reached */
};

static bool is_disabled(void)
{
    return parse_bool(getenv("GPUFL_DISABLED")) ||
           (gpufl_is_disabled && gpufl_is_disabled());
}

static bool is_selected(void *arg, const char *session_id)
{
    return select_has(&((struct upload *)arg)->selection, session_id);
}

static void on_spooled(void *arg, const char *spool_id)
{
    upload_result_add_spool(((struct upload *)arg)->result, spool_id);
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
        .sessions_complete = s.sessions_done,
        .elapsed_ms = (int64_t)(now_ms - u->start_ms),
    };
    u->told_ms = now_ms;
    u->options.progress(u->options.progress_arg, &progress);
}

static gpufl_status open_root(struct upload *u)
{
    const char *path = u->options.log_path;
    char stripped[4096];
    size_t len = strlen(path);
    u->root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = errno;
    if (u->root < 0 && len > 4 && len < sizeof stripped &&
        strcmp(path + len - 4, ".log") == 0) {
        snprintf(stripped, sizeof stripped, "%.*s", (int)len - 4, path);
        u->root = open(stripped, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    if (u->root < 0) {
        return upload_result_say(
            u->result, GPUFL_ERR_NOT_FOUND,
            "%s: '%.300s': %s (expected the directory that holds the sessions)",
            upload_options_name(u->name, "log_path"), path, strerror(error));
    }
    return GPUFL_OK;
}

static gpufl_status choose_sessions(struct upload *u)
{
    const struct gpufl_upload_options *o = &u->options;
    char also[64];
    char why[512];
    snprintf(also, sizeof also, "%s ", upload_options_name(u->name, "session_id"));
    if (session_root_is_session(&sys_real, o->log_path, also, why)) {
        return upload_result_say(u->result, GPUFL_ERR_USAGE, "%s: %s",
                                 upload_options_name(u->name, "log_path"), why);
    }
    gpufl_status status = select_list(&sys_real, u->root, &u->selection);
    if (status != GPUFL_OK) {
        return upload_result_say(u->result, status, "%s: '%.300s': %s",
                                 upload_options_name(u->name, "log_path"), o->log_path,
                                 status == GPUFL_ERR_IO ? strerror(errno)
                                                        : gpufl_status_text(status));
    }
    if (!o->all_sessions && (u->selection.count > 0 || *o->session_id)) {
        status = select_one(&u->selection, o->session_id);
    }
    if (status != GPUFL_OK) {
        return upload_result_say(u->result, status,
                                 "%s: '%.128s': no such session in %.250s (expected the "
                                 "name of a directory there)",
                                 upload_options_name(u->name, "session_id"),
                                 o->session_id, o->log_path);
    }
    for (size_t i = 0; i < u->selection.count; i++) {
        u->bytes_total += u->selection.session[i].bytes;
    }
    u->result->sessions = (unsigned)u->selection.count;
    return GPUFL_OK;
}

static gpufl_status open_transport(struct upload *u)
{
    const struct gpufl_upload_options *o = &u->options;
    char hostname[128] = "";
    char why[256];
    if (gethostname(hostname, sizeof hostname - 1) < 0 || !layout_name_ok(hostname)) {
        hostname[0] = '\0';
    }
    struct transport_http_config config = {
        .backend_url = o->backend_url,
        .api_path = o->api_path,
        .token = o->api_key,
        .user_agent = "gpufl-upload/" GPUFL_VERSION,
        .hostname = hostname,
        .ca_file = o->ca_file,
        .client_cert = o->client_cert,
        .client_key = o->client_key,
        .proxy = o->proxy,
        .allow_insecure_http = o->allow_insecure_http,
        .connect_timeout_ms = (uint64_t)o->connect_timeout_ms,
        .read_timeout_ms = (uint64_t)o->read_timeout_ms,
        .total_timeout_ms = (uint64_t)o->total_timeout_ms,
        .option_name = u->name,
    };
    gpufl_status status = transport_http_open(&config, &u->transport, why);
    if (status != GPUFL_OK) {
        return upload_result_say(u->result, status, "%s", why);
    }
    transport_http_identity(&u->transport, &u->backend);
    return GPUFL_OK;
}

static gpufl_status open_upload_engine(struct upload *u, char why[512])
{
    static const enum engine_compression codec[] = {COMPRESS_AUTO, COMPRESS_ZSTD,
                                                    COMPRESS_GZIP, COMPRESS_NONE};
    static const struct engine_channels channels = {{CHANNEL_NAMES}, CHANNEL_COUNT};
    const struct gpufl_upload_options *o = &u->options;
    struct engine_config config;
    engine_config_default(&config);
    config.log = &u->log;
    config.transport = u->transport;
    config.backend = &u->backend;
    config.same_origin = o->same_origin;
    config.same_origin_name = upload_options_name(u->name, "same_origin");
    config.flush_interval_ms = 0;
    config.max_requests_per_second = 0;
    config.compression = codec[(unsigned)o->compression < 4 ? o->compression : 0];
    config.rescan_interval_ms = NO_RESCAN_MS;
    config.state_dir = *o->state_dir ? o->state_dir : NULL;
    config.state_dir_name = upload_options_name(u->name, "state_dir");
    config.program = "gpufl-upload";
    config.wanted = is_selected;
    config.wanted_arg = u;
    config.force = o->force;
    config.force_name = o->force ? NULL : upload_options_name(u->name, "force");
    config.in_job = true;
    config.salvage = !o->leave_unpublished;
    config.spooled = on_spooled;
    config.spooled_arg = u;
    gpufl_status status = engine_open(&config, &u->engine);
    if (status != GPUFL_OK) {
        snprintf(why, 512, "out of memory");
        return status;
    }
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", u->root);
    return engine_add_root(u->engine, path, &channels, why);
}

static void close_upload_engine(struct upload *u)
{
    engine_close(u->engine);
    u->engine = NULL;
}

/* The other uploader may be one that ends, of another rank: then this one has its turn.
 * \return GPUFL_OK with u->engine to go on with, or without when all is sent. */
static gpufl_status wait_for_other(struct upload *u, char why[512])
{
    gpufl_status status = GPUFL_BUSY;
    if (u->options.force) {
        return upload_result_say(u->result, GPUFL_BUSY,
                                 "%s (%s needs it to be stopped first)", why,
                                 upload_options_name(u->name, "force"));
    }
    if (progress_is_of_another_origin(&sys_real, u->root, u->backend.url)) {
        return upload_result_say(u->result, GPUFL_BUSY,
                                 "%s, which sends to another backend than %s "
                                 "'%.200s' (stop it first)",
                                 why, upload_options_name(u->name, "backend_url"),
                                 u->options.backend_url);
    }
    uint64_t silent_ms = sys_real.now_ms() + SILENT_HOLDER_MS;
    for (uint64_t now_ms = 0; now_ms < u->deadline_ms;) {
        uint64_t turn_ms = sys_real.now_ms() + ASK_AGAIN_MS;
        turn_ms = turn_ms < u->deadline_ms ? turn_ms : u->deadline_ms;
        status = wait_for_holder(&sys_real, u->root, &u->selection, turn_ms);
        if (status == GPUFL_OK) {
            close_upload_engine(u);
            return upload_result_say(u->result, status,
                                     "sent by the uploader that serves this directory");
        }
        now_ms = sys_real.now_ms();
        if (status == GPUFL_BUSY && now_ms >= silent_ms) {
            break;
        }
        poll(NULL, 0, now_ms < turn_ms ? (int)(turn_ms - now_ms) : 0);
        close_upload_engine(u);
        gpufl_status opened = open_upload_engine(u, why);
        if (opened != GPUFL_BUSY) {
            return opened == GPUFL_OK ? opened
                                      : upload_result_say(u->result, opened, "%s", why);
        }
    }
    close_upload_engine(u);
    struct upload_result_words words;
    u->over = status != GPUFL_BUSY;
    upload_result_words_of(&u->options, u->name, u->over, &words);
    return status == GPUFL_BUSY ? upload_result_say(u->result, status, "%s", why)
                                : upload_result_say(u->result, status, "%s: %s (%s)", why,
                                                    words.over, words.longer);
}

/* True when it makes no sense to continue: a person must act, or nobody answers. */
static bool give_up(const struct upload *u, const struct engine_summary *s)
{
    unsigned most = (unsigned)u->options.max_retries;
    return s->hold != HOLD_NONE || (most && s->failures_in_row > most) ||
           (s->streams_stuck > 0 && s->streams_stuck == s->streams_pending && most &&
            s->stuck_failures > most);
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
            if (give_up(u, &summary)) {
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

static gpufl_status check_and_open(struct upload *u)
{
    char why[512];
    gpufl_status status = upload_options_check(&u->options, u->name, why);
    return status == GPUFL_OK ? open_transport(u)
                              : upload_result_say(u->result, status, "%s", why);
}

static gpufl_status upload_selected(struct upload *u)
{
    struct engine_summary summary;
    char why[512];
    gpufl_status status =
        check_and_open(u); /* first: what cannot work is said with nothing to send */
    if (status == GPUFL_OK) {
        status = open_root(u);
    }
    if (status == GPUFL_OK) {
        status = choose_sessions(u);
    }
    if (status == GPUFL_OK && u->selection.count == 0) {
        return upload_result_say(u->result, GPUFL_OK,
                                 "nothing to send: no session in %.300s",
                                 u->options.log_path);
    }
    if (status != GPUFL_OK) {
        return status;
    }
    status = open_upload_engine(u, why);
    bool busy = status == GPUFL_BUSY;
    if (busy) {
        status = wait_for_other(u, why);
    }
    if (status != GPUFL_OK || (busy && !u->engine)) {
        return busy ? status : upload_result_say(u->result, status, "%s", why);
    }
    upload_until_done(u);
    engine_summary(u->engine, &summary);
    struct upload_result_words words;
    upload_result_words_of(&u->options, u->name, u->over, &words);
    return upload_result_judge(u->result, &summary, engine_drained(u->engine), &words);
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
    if (is_disabled()) {
        on_log(&u, LOG_AT_WARN, "gpufl is switched off: nothing is uploaded");
        upload_result_say(u.result, status, "gpufl is switched off: nothing is uploaded");
    } else {
        status = upload_selected(&u);
    }
    engine_close(u.engine);
    transport_http_close(&u.transport);
    select_free(&u.selection);
    if (u.root >= 0) {
        close(u.root);
    }
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
    return upload_logs_named(options, NULL, result);
}
