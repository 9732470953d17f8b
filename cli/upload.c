/* SPDX-License-Identifier: Apache-2.0 */
/* gpufl upload DIR */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gpufl/upload.h>

#include "cli/json.h"
#include "cli/upload_flags.h"
#include "cli/verbs.h"

#define BAR_WIDTH 30

static const char usage[] =
    "Usage: gpufl upload DIR [options]\n"
    "Sends all sessions under DIR and waits until the backend has them. What is sent is\n"
    "remembered: run it again at any time, also after gpufl-agent or an interruption.\n"
    "\n"
    "  --backend-url URL  scheme://host[:port]; else GPUFL_BACKEND_URL\n"
    "  --api-key KEY      else GPUFL_API_KEY, which does not show in the process list\n"
    "  --api-path PATH    else GPUFL_API_PATH, else /api/v1\n"
    "  --session-id ID    this session only\n"
    "  --latest           the newest session only\n"
    "  --all-sessions     all of them; the default\n"
    "  --no-salvage       leave what a crashed 1.3 writer did not publish in its .tmp\n"
    "  --force            send again what is sent already\n"
    "  --timeout SECONDS  budget of the whole upload (300)\n"
    "  --retries N        failed requests in a row before giving up (5; 0 = until "
    "timeout)\n"
    "  --compression C    auto, zstd, gzip or none (auto)\n"
    "  --state-dir DIR    where positions are remembered (beside the logs)\n"
    "  --ca-file FILE     PEM certificates to trust instead of the system's\n"
    "  --client-cert FILE, --client-key FILE\n"
    "                     PEM, for a backend that asks for a certificate\n"
    "  --proxy URL        http://host:port; none = not even the environment's\n"
    "  --allow-insecure-http\n"
    "                     send the key over http:// to a public address all the same\n"
    "  -q, --quiet        say nothing but errors\n"
    "  --json             one JSON object with the result on stdout\n"
    "  -h, --help\n"
    "\n"
    "Exit: 0 all sent or nothing to send; 1 something is left, held or refused; 2 wrong "
    "use,\n"
    "refused key or no contact with the backend. No window or log is deleted.\n";

struct arguments {
    struct gpufl_upload_options options;
    bool latest;
    bool quiet;
    bool json;
    char key[1024];
};

static int bad(const char *what, const char *way_out)
{
    fprintf(stderr, "gpufl upload: %s: %s\n", what, way_out);
    return EXIT_BAD_USE;
}

static bool parse_int(const char *text, int min, int max, int *out)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    *out = (int)value;
    return !errno && *text && !*end && value >= min && value <= max;
}

static bool parse_compression(const char *text, enum gpufl_compression *out)
{
    static const char *const name[] = {"auto", "zstd", "gzip", "none"};
    for (unsigned i = 0; i < 4; i++) {
        if (strcmp(text, name[i]) == 0) {
            *out = (enum gpufl_compression)i;
            return true;
        }
    }
    return false;
}

/* Keeps the key and wipes it from the argument: not for everybody's ps. */
static int take_key(struct arguments *out, char *arg)
{
    size_t len = strlen(arg);
    if (len >= sizeof out->key) {
        return bad("--api-key", "longer than any key is");
    }
    memcpy(out->key, arg, len + 1);
    memset(arg, 'x', len);
    out->options.api_key = out->key;
    return -1;
}

/* Where the text of an option goes; NULL for those that are no text. */
static const char **text_of(int c, struct gpufl_upload_options *o)
{
    switch (c) {
    case 'u':
        return &o->backend_url;
    case 'p':
        return &o->api_path;
    case 's':
        return &o->session_id;
    case 'd':
        return &o->state_dir;
    case 'C':
        return &o->ca_file;
    case 'E':
        return &o->client_cert;
    case 'K':
        return &o->client_key;
    case 'P':
        return &o->proxy;
    default:
        return NULL;
    }
}

/* One option. \return -1 to go on, else the exit code. */
static int take_option(int c, char *arg, struct arguments *out)
{
    struct gpufl_upload_options *o = &out->options;
    const char **text = text_of(c, o);
    int seconds;
    if (text) {
        *text = arg;
        return -1;
    }
    switch (c) {
    case 'k':
        return take_key(out, arg);
    case 'l':
        out->latest = true;
        return -1;
    case 'f':
        o->force = true;
        return -1;
    case 'S':
    case 'N':
        o->leave_unpublished = c == 'N';
        return -1;
    case 't':
        if (!parse_int(arg, 0, 2000000, &seconds)) {
            return bad("--timeout", "give whole seconds");
        }
        o->total_timeout_ms = seconds ? seconds * 1000 : 300000;
        return -1;
    case 'r':
        return parse_int(arg, 0, 1000000, &o->max_retries)
                   ? -1
                   : bad("--retries", "give 0 or more");
    case 'c':
        return parse_compression(arg, &o->compression)
                   ? -1
                   : bad("--compression", "give auto, zstd, gzip or none");
    case 'I':
        o->allow_insecure_http = true;
        return -1;
    case 'q':
        out->quiet = true;
        return -1;
    case 'j':
        out->json = true;
        return -1;
    case 'a':
    case 'J': /* of the existing client, which starts a JVM; none is needed here */
        return -1;
    case 'h':
        fputs(usage, stdout);
        return EXIT_ALL_DONE;
    default:
        return bad("options", "see gpufl upload --help");
    }
}

static int parse(int argc, char **argv, struct arguments *out)
{
    static const struct option options[] = {
        {"backend-url", required_argument, NULL, 'u'},
        {"api-key", required_argument, NULL, 'k'},
        {"api-path", required_argument, NULL, 'p'},
        {"session-id", required_argument, NULL, 's'},
        {"latest", no_argument, NULL, 'l'},
        {"all-sessions", no_argument, NULL, 'a'},
        {"salvage", no_argument, NULL, 'S'},
        {"no-salvage", no_argument, NULL, 'N'},
        {"force", no_argument, NULL, 'f'},
        {"timeout", required_argument, NULL, 't'},
        {"retries", required_argument, NULL, 'r'},
        {"compression", required_argument, NULL, 'c'},
        {"state-dir", required_argument, NULL, 'd'},
        {"ca-file", required_argument, NULL, 'C'},
        {"client-cert", required_argument, NULL, 'E'},
        {"client-key", required_argument, NULL, 'K'},
        {"proxy", required_argument, NULL, 'P'},
        {"allow-insecure-http", no_argument, NULL, 'I'},
        {"agent-jar", required_argument, NULL, 'J'},
        {"quiet", no_argument, NULL, 'q'},
        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    int rc = -1;
    for (int c; rc < 0 && (c = getopt_long(argc, argv, "qh", options, NULL)) >= 0;) {
        rc = take_option(c, optarg, out);
    }
    if (rc < 0 && optind + 1 != argc) {
        rc = bad("DIR", optind < argc ? "give one directory"
                                      : "give the directory that "
                                        "holds the sessions");
    }
    if (rc < 0) {
        out->options.log_path = argv[optind];
        out->options.all_sessions = !out->latest && !*out->options.session_id;
    }
    return rc;
}

/* ---- what is shown ---- */

static void draw_bar(void *arg, const struct gpufl_upload_progress *p)
{
    (void)arg;
    char bar[BAR_WIDTH + 1];
    uint64_t part = p->bytes_total ? p->bytes_uploaded * BAR_WIDTH / p->bytes_total : 0;
    size_t full = part > BAR_WIDTH ? BAR_WIDTH : (size_t)part;
    memset(bar, '#', full);
    memset(bar + full, '.', BAR_WIDTH - full);
    bar[BAR_WIDTH] = '\0';
    fprintf(stderr, "\r[%s] %.1f of %.1f MiB, %" PRIu64 " lines, %u of %u sessions ", bar,
            (double)p->bytes_uploaded / 1048576, (double)p->bytes_total / 1048576,
            p->lines_uploaded, p->sessions_complete, p->sessions);
    fflush(stderr);
}

static void say_warning(void *arg, int level, const char *line)
{
    const struct arguments *arguments = arg;
    if (!arguments->quiet || level == 0) {
        fprintf(stderr, "%s%s\n", isatty(STDERR_FILENO) ? "\r\033[K" : "", line);
    }
}

static void print_json(gpufl_status status, const struct gpufl_upload_result *r)
{
    printf("{\"success\":%s,\"status\":\"%s\",\"message\":",
           r->success ? "true" : "false", gpufl_status_text(status));
    json_print(r->message);
    printf(",\"sessions\":%u,\"sessions_complete\":%u,\"sessions_live\":%u,"
           "\"files_processed\":%zu,\"files_skipped_by_cursor\":%zu,\"events_uploaded\":"
           "%" PRIu64 ",\"bytes_uploaded\":%" PRIu64 ",\"lines_rejected\":%" PRIu64
           ",\"lines_refused\":%" PRIu64 ",\"ranges_quarantined\":%" PRIu64
           ",\"http_status\":%d,\"elapsed_ms\":%" PRId64 ",\"warnings\":[",
           r->sessions, r->sessions_complete, r->sessions_live, r->files_processed,
           r->files_skipped_by_cursor, r->events_uploaded, r->bytes_uploaded,
           r->lines_rejected, r->lines_refused, r->ranges_quarantined, r->http_status,
           r->elapsed_ms);
    for (unsigned i = 0; i < r->warning_count && i < GPUFL_UPLOAD_WARNINGS_MAX; i++) {
        fputs(i ? "," : "", stdout);
        json_print(r->warnings[i]);
    }
    puts("]}");
}

static int exit_code(gpufl_status status)
{
    switch (status) {
    case GPUFL_OK:
        return EXIT_ALL_DONE;
    case GPUFL_PARTIAL:
    case GPUFL_BUSY:
        return EXIT_NOT_ALL;
    default:
        return EXIT_BAD_USE;
    }
}

int verb_upload(int argc, char **argv)
{
    struct arguments arguments = {.options = GPUFL_UPLOAD_OPTIONS_DEFAULT};
    struct gpufl_upload_result result = GPUFL_UPLOAD_RESULT_INIT;
    int rc = parse(argc, argv, &arguments);
    if (rc >= 0) {
        return rc;
    }
    bool bar = !arguments.quiet && isatty(STDERR_FILENO);
    arguments.options.progress = bar ? draw_bar : NULL;
    arguments.options.option_name = upload_flag_of;
    arguments.options.diagnostic = say_warning;
    arguments.options.diagnostic_arg = &arguments;
    gpufl_status status = gpufl_upload_logs(&arguments.options, &result);
    if (bar) {
        fputc('\n', stderr);
    }
    if (arguments.json) {
        print_json(status, &result);
    } else if (status != GPUFL_OK) {
        fprintf(stderr, "gpufl upload: %s\n", result.message);
    } else if (!arguments.quiet) {
        printf("gpufl upload: %s: %" PRIu64
               " lines, %u of %u sessions complete, %.1f s\n",
               result.message, result.events_uploaded, result.sessions_complete,
               result.sessions, (double)result.elapsed_ms / 1000);
    }
    return exit_code(status);
}
