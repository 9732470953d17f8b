/* SPDX-License-Identifier: Apache-2.0 */
/* Derives the configuration of the engine and of its transport. */
#include "agent/engine_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/options/option_find.h"
#include "agent/options/option_value.h"
#include "base/message.h"
#include "schema/layout.h"
#include "upload/http/endpoint.h"
#include "upload/http/transport_http.h"

#define REQUEST_TOTAL_MS 300000u
#define SETTLED_SYNC_MS  1000u
#define GATHER_MIN_MS    2u
#define GATHER_MAX_MS    100u

uint64_t engine_options_gather_ms(const struct options *o)
{
    uint64_t ms = o->flush_interval_ms / 5;
    return ms < GATHER_MIN_MS ? GATHER_MIN_MS : ms > GATHER_MAX_MS ? GATHER_MAX_MS : ms;
}

uint64_t engine_options_flush_ms(const struct options *o)
{
    uint64_t gather_ms = engine_options_gather_ms(o);
    return o->flush_interval_ms > gather_ms ? o->flush_interval_ms - gather_ms : 0;
}

static enum engine_delete files_to_delete(const struct options *o)
{
    if (o->retain_acked_payloads || o->delete_acked == DELETE_ACKED_NEVER) {
        return DELETE_NEVER;
    }
    return o->delete_acked == DELETE_ACKED_ALL ? DELETE_ALL : DELETE_WINDOWS;
}

static bool is_run_as_a_service(void)
{
    const char *state = getenv("STATE_DIRECTORY"); /* of systemd */
    return geteuid() == 0 || (state && *state);
}

/* Of systemd. */
static const char *runtime_directory(void)
{
    const char *dir = getenv("RUNTIME_DIRECTORY");
    return dir && *dir ? dir : NULL;
}

void engine_options(const struct options *o, struct engine_config *config)
{
    engine_config_default(config);
    config->flush_interval_ms = engine_options_flush_ms(o);
    config->settled_sync_ms = SETTLED_SYNC_MS;
    config->max_requests_per_second = (unsigned)o->max_requests_per_second;
    config->compression = o->compression;
    config->identity = o->live_identity;
    config->zstd_level = (int)o->zstd_level;
    config->orphan_timeout_ms = o->orphan_timeout_ms;
    config->rescan_interval_ms = o->rescan_interval_ms;
    config->skip_on_quota = o->on_quota == QUOTA_SKIP;
    config->delete_acked = files_to_delete(o);
    config->salvage = o->salvage;
    config->same_origin = o->same_origin;
    config->one_owner = o->require_owner_uid && *o->require_owner_uid;
    config->owner =
        config->one_owner ? (uid_t)strtoul(o->require_owner_uid, NULL, 10) : 0;
    config->accounts_dir = "/etc";
    config->memory_state = o->state == STATE_IN_MEMORY;
    config->state_dir = o->state_dir;
    config->state_dir_name = "--state-dir";
    config->service = is_run_as_a_service();
    config->run_dir = runtime_directory();
    config->program = "gpufl-agent";
    config->max_batch_lines = (uint32_t)o->stream_max_lines;
    config->max_batch_bytes = (size_t)o->stream_max_bytes;
}

gpufl_status engine_options_cursor(const struct options *o, const struct log *log,
                                   struct java_cursor **out, char why[512])
{
    *out = NULL;
    if (!o->cursor_file || !*o->cursor_file) {
        return GPUFL_OK;
    }
    const char *fault;
    gpufl_status status = java_cursor_open(o->cursor_file, out, &fault);
    if (status == GPUFL_ERR_NOT_FOUND) {
        log_info(log, "cursor.none", "file=%s", o->cursor_file);
        return GPUFL_OK;
    }
    char name[OPTION_NAME_MAX];
    const struct option_row *row = option_of_field(offsetof(struct options, cursor_file));
    option_name_used(o, row, name);
    if (status == GPUFL_ERR_USAGE) {
        snprintf(why, 512, "%s: '%.*s%s': %s", name, MESSAGE_VALUE(o->cursor_file, 300),
                 fault);
        return status;
    }
    snprintf(why, 512,
             "%s: %.*s%s is not a cursor file of the existing agent: %s (repair it, or "
             "leave it out to send everything again)",
             name, MESSAGE_VALUE(o->cursor_file, 250), fault);
    return status;
}

/* As in the existing agent, a path in --host precedes /api/<version>. One that cannot be
 * a path stays there, so that errors name the option it came from. */
static void split_host_and_path(const char *url, char host[512], char path[512],
                                const char *version)
{
    const char *scheme = strstr(url, "://");
    const char *after = scheme ? scheme + 3 : url;
    size_t len = (size_t)(after - url) + strcspn(after, "/");
    len = len && endpoint_path_ok(url + len) ? len : strlen(url);
    size_t path_len = strlen(url + len);
    while (path_len > 0 && url[len + path_len - 1] == '/') {
        path_len--;
    }
    snprintf(host, 512, "%.*s", (int)len, url);
    snprintf(path, 512, "%.*s/api/%.100s", (int)path_len, url + len, version);
}

/* The agent's names for the options of a transport. */
static const char *agent_option_of(const char *field)
{
    static const char *const option[][2] = {
        {"backend_url", "--host"},
        {"api_key", "--token"},
        {"api_path", "--api-path"},
        {"ca_file", "--ca-file"},
        {"client_cert", "--client-cert"},
        {"client_key", "--client-key"},
        {"proxy", "--proxy"},
        {"allow_insecure_http", "--allow-insecure-http"},
    };
    for (size_t i = 0; i < sizeof option / sizeof option[0]; i++) {
        if (strcmp(option[i][0], field) == 0) {
            return option[i][1];
        }
    }
    return field;
}

/* Messages begin with a flag: in its place, the variable or key that was used. */
static void name_what_was_used(const struct options *o, char why[256])
{
    char name[OPTION_NAME_MAX];
    char said[OPTION_NAME_MAX + 256];
    size_t len = strcspn(why, ":");
    const struct option_row *row =
        strncmp(why, "--", 2) == 0 ? option_of_flag(why + 2, len - 2) : NULL;
    if (row && strcmp(row->flag, "token") == 0 && o->token_file && *o->token_file) {
        row = option_of_field(offsetof(struct options, token_file));
    }
    if (row) {
        snprintf(said, sizeof said, "%s%s", option_name_used(o, row, name), why + len);
        snprintf(why, 256, "%.255s", said);
    }
}

gpufl_status engine_options_token(const struct options *o, struct token *token,
                                  char why[512])
{
    char name[OPTION_NAME_MAX] = "credential " TOKEN_CREDENTIAL;
    char reason[512];
    const struct option_row *file = option_of_field(offsetof(struct options, token_file));
    const struct option_row *value = option_of_field(offsetof(struct options, token));
    gpufl_status status = token_open(token, o->token, o->token_file, reason);
    if (status == GPUFL_OK) {
        return GPUFL_OK;
    }
    if (o->token_file && *o->token_file) {
        option_name_used(o, file, name);
    } else if (!token->file[0]) {
        option_name_used(o, value, name);
    }
    snprintf(why, 512, "%s: %.440s", name, reason);
    return status;
}

gpufl_status engine_options_transport(const struct options *o, const char *token,
                                      struct transport *out, char why[256])
{
    char hostname[128] = "";
    char path[512];
    char host[512];
    if (gethostname(hostname, sizeof hostname - 1) < 0 || !layout_name_ok(hostname)) {
        hostname[0] = '\0';
    }
    split_host_and_path(o->host ? o->host : "", host, path, o->api_version);
    struct transport_http_config config = {
        .backend_url = host,
        .api_path = o->api_path ? o->api_path : path,
        .token = token,
        .user_agent = "gpufl-agent/" GPUFL_VERSION,
        .hostname = hostname,
        .ca_file = o->ca_file,
        .client_cert = o->client_cert,
        .client_key = o->client_key,
        .proxy = o->proxy,
        .allow_insecure_http = o->allow_insecure_http,
        .connect_timeout_ms = o->connect_timeout_s * 1000,
        .read_timeout_ms = o->read_timeout_ms,
        .total_timeout_ms = REQUEST_TOTAL_MS,
        .option_name = agent_option_of,
    };
    gpufl_status status = transport_http_open(&config, out, why);
    if (status != GPUFL_OK) {
        name_what_was_used(o, why);
    }
    return status;
}
