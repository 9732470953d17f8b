/* SPDX-License-Identifier: Apache-2.0 */
/* The option table. Names of the existing agent keep their meaning; what is not built is
 * refused with the way out. */
#include "agent/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/config.h"
#include "agent/option_value.h"
#include "schema/duration.h"

enum kind {
    KIND_TEXT,
    KIND_COUNT,    /* a whole number */
    KIND_DURATION, /* 250ms, 30s, 5m, 1h; a bare number is seconds; kept in ms */
    KIND_SWITCH,   /* on unless "false" or "0" */
    KIND_CHOICE,
    KIND_REFUSED,
};

struct row {
    const char *flag;
    const char *env;
    const char *json; /* dotted path in the file of the existing agent, or ours */
    enum kind kind;
    size_t at;
    const char *fallback;
    const char *choices; /* for CHOICE, separated by | in the order of the values */
    const char *help;    /* for REFUSED: what to do instead */
};

#define FIELD(name) offsetof(struct options, name)
#define NO_KAFKA    "Kafka is not built in: send to an HTTP backend (--type=http)"
#define NO_ARCHIVE                                                                       \
    "the archiver is not built in: copy the session directories with your own tool "     \
    "after "                                                                             \
    "they are complete"

static const struct row rows[] = {
    {"folder", "GPUFL_SOURCE_FOLDER", "source.folder", KIND_TEXT, FIELD(folder), NULL,
     NULL, "directory that holds the sessions"},
    {"folders", "GPUFL_SOURCE_FOLDERS", NULL, KIND_TEXT, FIELD(folders), NULL, NULL,
     "more of them, separated by commas"},
    {"log-types", "GPUFL_LOG_TYPES", "source.logTypes", KIND_TEXT, FIELD(log_types),
     "device,scope,system,sass", NULL, "channels to follow"},
    {"type", "GPUFL_PUBLISHER_TYPE", "publisher.type", KIND_TEXT, FIELD(type), "http",
     NULL, "kind of backend: http"},
    {"host", "GPUFL_HTTP_HOST", "publisher.hostUrl", KIND_TEXT, FIELD(host), NULL, NULL,
     "backend, scheme://host[:port]; required"},
    {"api-version", "GPUFL_HTTP_API_VERSION", "publisher.apiVersion", KIND_TEXT,
     FIELD(api_version), "v1", NULL, "path becomes /api/VERSION"},
    {"api-path", "GPUFL_API_PATH", "publisher.apiPath", KIND_TEXT, FIELD(api_path), NULL,
     NULL, "whole path instead, for reverse proxies"},
    {"token", "GPUFL_HTTP_TOKEN", "publisher.authToken", KIND_TEXT, FIELD(token), NULL,
     NULL, "API key; better --token-file, which no process list shows"},
    {"token-file", "GPUFL_HTTP_TOKEN_FILE", "publisher.tokenFile", KIND_TEXT,
     FIELD(token_file), NULL, NULL, "file with the API key; read again after a 401"},
    {"ca-file", "GPUFL_AGENT_CA_FILE", "publisher.caFile", KIND_TEXT, FIELD(ca_file),
     NULL, NULL, "PEM certificates to trust instead of the system's"},
    {"timeout", "GPUFL_HTTP_TIMEOUT_SEC", "publisher.timeoutSeconds", KIND_COUNT,
     FIELD(connect_timeout_s), "10", NULL, "seconds to connect"},
    {"read-timeout", "GPUFL_AGENT_READ_TIMEOUT", "publisher.readTimeout", KIND_DURATION,
     FIELD(read_timeout_ms), "30s", NULL, "without a byte moving"},
    {"compression", "GPUFL_AGENT_COMPRESSION", "publisher.contentEncoding", KIND_CHOICE,
     FIELD(compression), "auto", "auto|zstd|gzip|none",
     "auto is zstd where the backend declares it, else gzip"},
    {"zstd-level", "GPUFL_AGENT_ZSTD_LEVEL", "publisher.zstdLevel", KIND_COUNT,
     FIELD(zstd_level), "1", NULL, "1 to 19"},
    {"live-identity", "GPUFL_AGENT_LIVE_IDENTITY", "publisher.liveIdentity", KIND_CHOICE,
     FIELD(live_identity), "auto", "auto|on|off",
     "identity headers on live batches; auto is where the backend declares it"},
    {"stream-max-lines", "GPUFL_AGENT_STREAM_MAX_LINES", "publisher.streamMaxLines",
     KIND_COUNT, FIELD(stream_max_lines), "5000", NULL, "lines of a batch"},
    {"stream-max-bytes", "GPUFL_AGENT_STREAM_MAX_BYTES", "publisher.streamMaxBytes",
     KIND_COUNT, FIELD(stream_max_bytes), "1048576", NULL, "raw bytes of a batch"},
    {"flush-interval", "GPUFL_AGENT_FLUSH_INTERVAL", "agent.flushInterval", KIND_DURATION,
     FIELD(flush_interval_ms), "500ms", NULL,
     "from the first unsent byte to its batch; 0 sends at once"},
    {"max-requests-per-second", "GPUFL_AGENT_MAX_REQUESTS_PER_SECOND",
     "agent.maxRequestsPerSecond", KIND_COUNT, FIELD(max_requests_per_second), "50", NULL,
     "0 = no limit; batches grow where it binds"},
    {"watch", "GPUFL_AGENT_WATCH", "agent.watch", KIND_CHOICE, FIELD(watch), "auto",
     "auto|inotify|poll", "how changes are noticed"},
    {"rescan-interval", "GPUFL_AGENT_RESCAN_INTERVAL", "agent.rescanInterval",
     KIND_DURATION, FIELD(rescan_interval_ms), "10s", NULL,
     "list directories this often (poll: 1s); what is over, or watched and not polled, "
     "is "
     "looked at every sixth time"},
    {"orphan-timeout", "GPUFL_AGENT_ORPHAN_TIMEOUT", "agent.orphanTimeout", KIND_DURATION,
     FIELD(orphan_timeout_ms), "0", NULL,
     "silence after which a writer that cannot be probed counts as gone; 0 = never"},
    {"state-dir", "GPUFL_AGENT_STATE_DIR", "agent.stateDir", KIND_TEXT, FIELD(state_dir),
     NULL, NULL, "where the journal lies; see gpufl-agent(8) for the default"},
    {"state", "GPUFL_AGENT_STATE", "agent.state", KIND_CHOICE, FIELD(state), "disk",
     "disk|memory", "memory: nothing is remembered, lines may be sent twice"},
    {"on-quota", "GPUFL_AGENT_ON_QUOTA", "agent.onQuota", KIND_CHOICE, FIELD(on_quota),
     "hold", "hold|skip",
     "at a workspace limit (402): wait, or drop as the JVM agent did"},
    {"delete-acked", "GPUFL_AGENT_DELETE_ACKED", "agent.deleteAcked", KIND_CHOICE,
     FIELD(delete_acked), "auto", "auto|never|acknowledged",
     "files to delete once the backend says that they are stored; auto: 1.3 windows "
     "only"},
    {"salvage", "GPUFL_AGENT_SALVAGE", "agent.salvage", KIND_SWITCH, FIELD(salvage), NULL,
     NULL, "publish what a crashed 1.3 writer left in .tmp; needs to write there"},
    {"exit-when-drained", "GPUFL_AGENT_EXIT_WHEN_DRAINED", "agent.exitWhenDrained",
     KIND_SWITCH, FIELD(exit_when_drained), NULL, NULL,
     "exit 0 once every session is complete"},
    {"exit-if-empty", "GPUFL_AGENT_EXIT_IF_EMPTY", "agent.exitIfEmpty", KIND_SWITCH,
     FIELD(exit_if_empty), NULL, NULL,
     "with it: exit 0 at once when there is no session"},
    {"ignore-preexisting", "GPUFL_AGENT_IGNORE_PREEXISTING", "agent.ignorePreexisting",
     KIND_SWITCH, FIELD(ignore_preexisting), NULL, NULL,
     "leave sessions alone that were there at the start"},
    {"retain-acked-payloads", "GPUFL_AGENT_RETAIN_ACKED_PAYLOADS",
     "agent.retainAckedPayloads", KIND_SWITCH, FIELD(retain_acked_payloads), NULL, NULL,
     "never delete; the same as --delete-acked=never"},
    {"drain-timeout", "GPUFL_AGENT_DRAIN_TIMEOUT", "agent.drainTimeout", KIND_DURATION,
     FIELD(drain_timeout_ms), "25s", NULL, "after SIGTERM, before giving up"},
    {"log-level", "GPUFL_AGENT_LOG_LEVEL", "agent.logLevel", KIND_CHOICE,
     FIELD(log_level), "info", "error|warn|info|debug", "what is said on stderr"},
    {"cursor-file", "GPUFL_CURSOR_FILE", NULL, KIND_TEXT, FIELD(cursor_file), NULL, NULL,
     "the JVM agent's: begin where it stood; ours are in the journal"},
    {"help", NULL, NULL, KIND_SWITCH, FIELD(help), NULL, NULL, "this text"},
    {"version", NULL, NULL, KIND_SWITCH, FIELD(version), NULL, NULL, "the version"},
    {"upload-mode", "GPUFL_AGENT_UPLOAD_MODE", "publisher.uploadMode", KIND_REFUSED, 0,
     "stream", NULL,
     "only stream is built in, the per-event legacy mode is not: use a backend with "
     "/events/stream"},
    {"url", "GPUFL_HTTP_URL", "publisher.endpointUrl", KIND_REFUSED, 0, NULL, NULL,
     "it was replaced by --host (GPUFL_HTTP_HOST)"},
    {"prune-failed", "GPUFL_AGENT_PRUNE_FAILED", NULL, KIND_REFUSED, 0, "false", NULL,
     "nothing is deleted here: remove failed sessions with your own tool"},
    {"brokers", "GPUFL_KAFKA_BROKERS", "publisher.bootstrapServers", KIND_REFUSED, 0,
     NULL, NULL, NO_KAFKA},
    {"topic-prefix", "GPUFL_KAFKA_TOPIC_PREFIX", "publisher.topicPrefix", KIND_REFUSED, 0,
     NULL, NULL, NO_KAFKA},
    {"kafka-linger-ms", "GPUFL_KAFKA_LINGER_MS", "publisher.lingerMs", KIND_REFUSED, 0,
     NULL, NULL, NO_KAFKA},
    {"archiver-endpoint", "GPUFL_ARCHIVER_ENDPOINT", "archiver.endpoint", KIND_REFUSED, 0,
     NULL, NULL, NO_ARCHIVE},
    {"archiver-bucket", "GPUFL_ARCHIVER_BUCKET", "archiver.bucket", KIND_REFUSED, 0, NULL,
     NULL, NO_ARCHIVE},
    {"archiver-region", "GPUFL_ARCHIVER_REGION", "archiver.region", KIND_REFUSED, 0, NULL,
     NULL, NO_ARCHIVE},
    {"archiver-access-key", "GPUFL_ARCHIVER_ACCESS_KEY", "archiver.accessKey",
     KIND_REFUSED, 0, NULL, NULL, NO_ARCHIVE},
    {"archiver-secret-key", "GPUFL_ARCHIVER_SECRET_KEY", "archiver.secretKey",
     KIND_REFUSED, 0, NULL, NULL, NO_ARCHIVE},
    {"archiver-prefix", "GPUFL_ARCHIVER_PREFIX", "archiver.prefix", KIND_REFUSED, 0, NULL,
     NULL, NO_ARCHIVE},
    {"archiver-delete", "GPUFL_ARCHIVER_DELETE", "archiver.deleteAfterUpload",
     KIND_REFUSED, 0, "false", NULL, NO_ARCHIVE},
};
#define ROWS (sizeof rows / sizeof rows[0])

/* ---- one value ---- */

static gpufl_status bad(const struct row *row, const char *value, char why[512])
{
    if (row->kind == KIND_REFUSED) {
        snprintf(why, 512, "--%s: %s", row->flag, row->help);
    } else {
        snprintf(why, 512, "--%s: \"%.100s\" is no %s; %s%s", row->flag, value,
                 row->kind == KIND_DURATION ? "duration"
                 : row->kind == KIND_COUNT  ? "whole number"
                                            : "choice",
                 row->kind == KIND_DURATION ? "write 250ms, 30s, 5m or 1h"
                 : row->kind == KIND_COUNT  ? "give 0 or more"
                                            : "give one of ",
                 row->choices ? row->choices : "");
    }
    return GPUFL_ERR_USAGE;
}

static gpufl_status set(struct options *o, const struct row *row, const char *value,
                        char why[512])
{
    char *field = (char *)o + row->at;
    const char *end;
    bool ok = true;
    switch (row->kind) {
    case KIND_TEXT:
        free(*(char **)field);
        *(char **)field = strdup(value);
        ok = *(char **)field != NULL;
        break;
    case KIND_COUNT:
        ok = duration_parse_count(value, (uint64_t *)field, &end) && !*end;
        break;
    case KIND_DURATION:
        ok = duration_parse(value, (uint64_t *)field);
        break;
    case KIND_SWITCH:
        *(bool *)field = strcasecmp(value, "false") != 0 && strcmp(value, "0") != 0;
        break;
    case KIND_CHOICE:
        ok = option_parse_choice(value, row->choices, (int *)field);
        break;
    case KIND_REFUSED: /* the value that asks for nothing is fine */
        ok = row->fallback &&
             (strcasecmp(value, row->fallback) == 0 || strcmp(value, "0") == 0);
        break;
    }
    return ok ? GPUFL_OK : bad(row, value, why);
}

gpufl_status options_set_json(struct options *o, const char *json, const char *value,
                              char why[512])
{
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].json && strcmp(rows[i].json, json) == 0) {
            return set(o, &rows[i], value, why);
        }
    }
    return GPUFL_ERR_NOT_FOUND;
}

/* ---- the sources ---- */

static gpufl_status set_defaults(struct options *o, char why[512])
{
    gpufl_status status = GPUFL_OK;
    for (size_t i = 0; status == GPUFL_OK && i < ROWS; i++) {
        if (rows[i].fallback && rows[i].kind != KIND_REFUSED) {
            status = set(o, &rows[i], rows[i].fallback, why);
        }
    }
    return status;
}

static gpufl_status set_environment(struct options *o, char why[512])
{
    gpufl_status status = GPUFL_OK;
    for (size_t i = 0; status == GPUFL_OK && i < ROWS; i++) {
        const char *value = rows[i].env ? getenv(rows[i].env) : NULL;
        if (value && value[strspn(value, " \t")]) { /* blank = unset */
            status = set(o, &rows[i], value, why);
        }
    }
    return status;
}

static const struct row *find_flag(const char *name, size_t len)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (strlen(rows[i].flag) == len && strncmp(rows[i].flag, name, len) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

/* `--flag=value`, `--flag value`, `--switch`. */
static gpufl_status set_flag(struct options *o, int argc, char **argv, int *at,
                             char why[512])
{
    char *arg = argv[*at];
    const char *name = arg + 2;
    char *equals = strchr(arg, '=');
    size_t len = equals ? (size_t)(equals - name) : strlen(name);
    const struct row *row = strncmp(arg, "--", 2) == 0 ? find_flag(name, len) : NULL;
    if (!row) {
        snprintf(why, 512, "unknown argument \"%.100s\"; see gpufl-agent --help", arg);
        return GPUFL_ERR_USAGE;
    }
    char *value = equals ? equals + 1 : NULL;
    if (!value && row->kind == KIND_SWITCH) {
        return set(o, row, "true", why);
    }
    if (!value && *at + 1 < argc && strncmp(argv[*at + 1], "--", 2) != 0) {
        value = argv[++*at];
    }
    if (!value && row->kind != KIND_REFUSED) {
        snprintf(why, 512, "--%s needs a value; see gpufl-agent --help", row->flag);
        return GPUFL_ERR_USAGE;
    }
    gpufl_status status = set(o, row, value ? value : "", why);
    if (row->at == FIELD(token) && row->kind == KIND_TEXT && value) {
        memset(value, 'x', strlen(value)); /* not for everybody's ps */
    }
    return status;
}

static bool is_config(const char *arg)
{
    return strncmp(arg, "--config", 8) == 0 && (arg[8] == '=' || arg[8] == '\0');
}

static const char *config_value(int argc, char **argv, int at)
{
    return argv[at][8] == '=' ? argv[at] + 9 : at + 1 < argc ? argv[at + 1] : "";
}

static gpufl_status set_flags(struct options *o, int argc, char **argv, char why[512])
{
    gpufl_status status = GPUFL_OK;
    for (int i = 1; status == GPUFL_OK && i < argc; i++) {
        if (is_config(argv[i])) {
            i += argv[i][8] == '\0';
            continue;
        }
        status = set_flag(o, argc, argv, &i, why);
    }
    return status;
}

gpufl_status options_read(int argc, char **argv, struct options *out, char why[512])
{
    memset(out, 0, sizeof *out);
    gpufl_status status = set_defaults(out, why);
    for (int i = 1; status == GPUFL_OK && i < argc; i++) {
        if (is_config(argv[i])) {
            status = config_read(config_value(argc, argv, i), out, why);
        }
    }
    if (status == GPUFL_OK) {
        status = set_environment(out, why);
    }
    if (status == GPUFL_OK) {
        status = set_flags(out, argc, argv, why);
    }
    return status;
}

/* ---- for people ---- */

void options_visit(void (*visit)(void *arg, const char *flag, const char *env,
                                 const char *help),
                   void *arg)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].kind != KIND_REFUSED) {
            visit(arg, rows[i].flag, rows[i].env, rows[i].help);
        }
    }
}

void options_help(FILE *out)
{
    fputs("Usage: gpufl-agent --folder=DIR --host=URL [options]\n"
          "Follows the session directories under DIR and uploads every line, once.\n\n"
          "  --config=FILE\n      a JSON file; flags and environment beat it\n",
          out);
    for (size_t i = 0; i < ROWS; i++) {
        const struct row *row = &rows[i];
        if (row->kind == KIND_REFUSED) {
            continue;
        }
        fprintf(out, "  --%s%s%s\n      %s", row->flag,
                row->kind == KIND_SWITCH ? "" : "=",
                row->kind == KIND_SWITCH ? ""
                : row->choices           ? row->choices
                                         : "VALUE",
                row->help);
        if (row->fallback) {
            fprintf(out, " (default %s)", row->fallback);
        }
        fprintf(out, "%s%s\n", row->env ? "\n      environment: " : "",
                row->env ? row->env : "");
    }
    fputs(
        "\nDurations: 250ms, 30s, 5m, 1h. SIGTERM drains and exits 0; a second one exits "
        "at once.\nExit: 0 stopped or drained, 1 bad configuration.\n",
        out);
}

void options_fini(struct options *o)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].kind == KIND_TEXT) {
            char **field = (char **)((char *)o + rows[i].at);
            free(*field);
            *field = NULL;
        }
    }
}
