/* SPDX-License-Identifier: Apache-2.0 */
/* Opens what one call of gpufl_upload_logs() needs: the log directory, the sessions that
 * are chosen in it, the connection and the engine. */
#include "upload/upload_open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/message.h"
#include "schema/channels.h"
#include "schema/layout.h"
#include "upload/http/transport_http.h"
#include "upload/journal/state_dir.h"
#include "upload/source/session_root.h"
#include "upload/upload_result.h"

#define NO_RESCAN_MS (24u * 3600u * 1000u)

static bool is_selected(void *arg, const char *session_id)
{
    return select_has(&((struct upload *)arg)->selection, session_id);
}

static void on_spooled(void *arg, const char *spool_id)
{
    upload_result_add_spool(((struct upload *)arg)->result, spool_id);
}

gpufl_status upload_open_root(struct upload *u)
{
    const char *path = u->options.log_path;
    char stripped[4096];
    size_t len = layout_log_dir_len(path);
    u->root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = errno;
    if (u->root < 0 && path[len] && len < sizeof stripped) {
        snprintf(stripped, sizeof stripped, "%.*s", (int)len, path);
        u->root = open(stripped, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    if (u->root < 0) {
        return upload_result_say(u->result, GPUFL_ERR_NOT_FOUND, "%s: '%.*s%s': %s (%s)",
                                 upload_options_name(u->name, "log_path"),
                                 MESSAGE_VALUE(path, 300), strerror(error),
                                 error == EACCES
                                     ? "run this as a user who can read it"
                                     : "expected the directory that holds the sessions");
    }
    return GPUFL_OK;
}

gpufl_status upload_open_sessions(struct upload *u)
{
    const struct gpufl_upload_options *o = &u->options;
    char also[64];
    char why[512];
    snprintf(also, sizeof also, "%s ", upload_options_name(u->name, "session_id"));
    if (session_root_is_session(&sys_real, o->log_path, also, why)) {
        return upload_result_say(u->result, GPUFL_ERR_USAGE, "%s: %s",
                                 upload_options_name(u->name, "log_path"), why);
    }
    bool one = !o->all_sessions;
    /* Our own sessions come first, and half of the time is left to send them. */
    gpufl_status status =
        one ? select_one(&sys_real, u->root, o->session_id, &u->selection)
            : select_list(&sys_real, u->root,
                          u->start_ms + (u->deadline_ms - u->start_ms) / 2,
                          &u->selection);
    if (status == GPUFL_ERR_NOT_FOUND && !*o->session_id) {
        status = GPUFL_OK; /* there is none */
    }
    if (status != GPUFL_OK && status != GPUFL_ERR_NOT_FOUND) {
        return upload_result_say(u->result, status, "%s: '%.300s': %s",
                                 upload_options_name(u->name, "log_path"), o->log_path,
                                 status == GPUFL_ERR_IO ? strerror(errno)
                                                        : gpufl_status_text(status));
    }
    if (status != GPUFL_OK) {
        return upload_result_say(u->result, status,
                                 "%s: '%.*s%s': no such session in %.250s (expected the "
                                 "name of a directory there)",
                                 upload_options_name(u->name, "session_id"),
                                 MESSAGE_VALUE(o->session_id, 128), o->log_path);
    }
    for (size_t i = 0; i < u->selection.count; i++) {
        u->bytes_total += u->selection.session[i].bytes;
    }
    u->result->sessions = (unsigned)u->selection.count;
    return GPUFL_OK;
}

gpufl_status upload_try_state(struct upload *u)
{
    const struct gpufl_upload_options *o = &u->options;
    struct state_place place;
    char why[512];
    if (!*o->state_dir) {
        return GPUFL_OK;
    }
    gpufl_status status =
        state_dir_open(o->state_dir, u->root, o->log_path, STATE_TRY, &place, why);
    if (status == GPUFL_OK) {
        close(place.fd);
        return GPUFL_OK;
    }
    return upload_result_say(u->result, status, "%s: %s",
                             upload_options_name(u->name, "state_dir"), why);
}

bool upload_journal_open(const struct upload *u, struct journal_read *out)
{
    const char *state_dir = u->options.state_dir;
    char fd_path[64];
    *out = (struct journal_read){0};
    snprintf(fd_path, sizeof fd_path, "/proc/self/fd/%d", u->root);
    char *path = realpath(fd_path, NULL);
    bool opened = path && journal_read_open(&sys_real, *state_dir ? state_dir : NULL,
                                            u->root, path, out) == GPUFL_OK;
    free(path);
    return opened;
}

bool upload_knows_unfinished(const struct upload *u)
{
    struct journal_read journal = {0};
    bool unfinished = false;
    bool known = u->options.all_sessions && upload_journal_open(u, &journal);
    for (size_t i = 0; known && !unfinished && i < journal.streams; i++) {
        unfinished = !journal.session[journal.stream[i].session].is_done;
    }
    journal_read_fini(&journal);
    return unfinished;
}

bool upload_knows_any(const struct upload *u)
{
    const char *state_dir = u->options.state_dir;
    return journal_read_knows_any(&sys_real, *state_dir ? state_dir : NULL, u->root);
}

static void upload_warn_unused(void *u, const char *name, const char *why)
{
    log_warn(&((struct upload *)u)->log, "option.unused",
             "option=%s note=\"it changes nothing: %s\"", name, why);
}

gpufl_status upload_open_transport(struct upload *u)
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
    http_config_unused_each(&config, upload_warn_unused, u);
    transport_http_identity(&u->transport, &u->backend);
    return GPUFL_OK;
}

gpufl_status upload_open_engine(struct upload *u, char why[512])
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
    config.accounts_dir = "/etc";
    config.state_dir = *o->state_dir ? o->state_dir : NULL;
    config.state_dir_name = upload_options_name(u->name, "state_dir");
    config.program = "gpufl-upload";
    config.wanted = is_selected;
    config.wanted_arg = u;
    config.named = !o->all_sessions;
    config.force = o->force;
    config.force_name = o->force ? NULL : upload_options_name(u->name, "force");
    config.in_job = true;
    config.once = true;
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

void upload_close_engine(struct upload *u)
{
    engine_close(u->engine);
    u->engine = NULL;
}
