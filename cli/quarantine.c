/* SPDX-License-Identifier: Apache-2.0 */
/* gpufl quarantine list|show|retry|drop DIR */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/json.h"
#include "cli/upload_flags.h"
#include "cli/verbs.h"
#include "schema/channels.h"
#include "upload/engine/quarantine.h"
#include "upload/http/reply.h"
#include "upload/http/transport_http.h"

static const char usage[] =
    "Usage: gpufl quarantine list DIR [--json]\n"
    "       gpufl quarantine show DIR NAME\n"
    "       gpufl quarantine retry DIR NAME... | --all\n"
    "       gpufl quarantine drop DIR NAME... | --all\n"
    "What the backend refused for good is kept in its files and listed here; it keeps "
    "its\n"
    "session from being complete. show prints the lines, retry offers them again under "
    "the\n"
    "same identity, drop gives them up. retry and drop need the directory for "
    "themselves:\n"
    "stop gpufl-agent first, start it after.\n"
    "\n"
    "  --all              every range of the directory\n"
    "  --json             list as one JSON array\n"
    "  --state-dir DIR    where positions are remembered (beside the logs)\n"
    "  --backend-url URL  for retry: scheme://host[:port]; else GPUFL_BACKEND_URL\n"
    "  --api-key KEY      for retry: else GPUFL_API_KEY\n"
    "  --api-path PATH    for retry: else GPUFL_API_PATH, else /api/v1\n"
    "  --ca-file FILE     for retry: PEM certificates to trust instead of the system's\n"
    "  -h, --help\n"
    "\n"
    "Exit: 0 done; 1 something is still refused or there is no such range; 2 wrong use, "
    "or\n"
    "the directory is served.\n";

struct arguments {
    const char *dir;
    char **names;
    int count;
    bool all;
    bool json;
    const char *state_dir;
    struct transport_http_config http;
    char key[1024];
};

static int fail(int rc, const char *why)
{
    fprintf(stderr, "gpufl quarantine: %s\n", why);
    return rc;
}

static bool is_named(const struct arguments *a, const struct quarantined *range)
{
    for (int i = 0; i < a->count; i++) {
        if (strcmp(a->names[i], range->name) == 0) {
            return true;
        }
    }
    return a->all;
}

/* ---- looking: beside an agent that runs ---- */

static void print_range(const struct arguments *a, const struct quarantined *r,
                        bool first)
{
    const struct record_quarantine *f = &r->record;
    if (!a->json) {
        printf("%s  %s %s file %u bytes %" PRIu64 "-%" PRIu64 ", %u lines: %s\n", r->name,
               r->path, r->channel, f->file, f->begin, f->end, f->lines, f->reason);
        return;
    }
    printf("%s{\"name\":\"%s\",\"path\":\"%s\",\"channel\":\"%s\",\"file\":%u,\"begin\":"
           "%" PRIu64 ",\"end\":%" PRIu64 ",\"lines\":%u,\"status\":%d,\"reason\":",
           first ? "" : ",", r->name, r->path, r->channel, f->file, f->begin, f->end,
           f->lines, f->status);
    json_print(f->reason);
    putchar('}');
}

static int print_bytes(int root, const struct quarantined *r)
{
    char *data;
    size_t len;
    bool gz;
    gpufl_status status = quarantine_read(&sys_real, root, r, &data, &len, &gz);
    if (status != GPUFL_OK) {
        fprintf(stderr, "gpufl quarantine: %s: its file cannot be read as it was: %s\n",
                r->name, gpufl_status_text(status));
        return EXIT_NOT_ALL;
    }
    if (gz) {
        fprintf(stderr,
                "gpufl quarantine: a compressed window follows: pipe it to zcat\n");
    }
    bool written = fwrite(data, 1, len, stdout) == len;
    if (len && !gz && data[len - 1] != '\n') {
        putchar('\n');
    }
    free(data);
    return written ? EXIT_ALL_DONE : EXIT_NOT_ALL;
}

static int look(const struct arguments *a, bool bytes)
{
    struct journal_read journal;
    struct quarantined range;
    char *path = realpath(a->dir, NULL);
    int root = open(a->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = bytes ? EXIT_NOT_ALL : EXIT_ALL_DONE;
    if (root < 0 || !path) {
        free(path);
        return fail(EXIT_BAD_USE, strerror(errno));
    }
    gpufl_status status =
        journal_read_open(&sys_real, a->state_dir, root, path, &journal);
    free(path);
    if (status != GPUFL_OK) {
        close(root);
        fputs(a->json ? "[]\n" : "", stdout);
        return fail(status == GPUFL_ERR_NOT_FOUND && !bytes ? EXIT_ALL_DONE
                                                            : EXIT_BAD_USE,
                    "no journal found: nothing was sent from here, or --state-dir is "
                    "needed");
    }
    fputs(a->json ? "[" : "", stdout);
    for (size_t i = 0; quarantine_in_journal(&journal, i, &range); i++) {
        if (!bytes) {
            print_range(a, &range, i == 0);
        } else if (is_named(a, &range)) {
            rc = print_bytes(root, &range);
        }
    }
    fputs(a->json ? "]\n" : "", stdout);
    journal_read_fini(&journal);
    close(root);
    return bytes && rc == EXIT_NOT_ALL
               ? fail(rc, "no such range; see gpufl quarantine list")
               : rc;
}

/* ---- acting: alone ---- */

static bool nothing(void *arg, const char *session)
{
    (void)arg;
    (void)session;
    return false; /* is sent but what is asked for */
}

static gpufl_status open_engine(const struct arguments *a, struct engine **out,
                                char why[512])
{
    static const struct engine_channels channels = {{CHANNEL_NAMES}, CHANNEL_COUNT};
    static const struct log quiet = {0};
    struct engine_config config;
    engine_config_default(&config);
    config.log = &quiet;
    config.wanted = nothing;
    config.ack_only = true;
    config.state_dir = a->state_dir;
    config.program = "gpufl quarantine";
    gpufl_status status = engine_open(&config, out);
    if (status == GPUFL_OK) {
        status = engine_add_root(*out, a->dir, &channels, why);
    }
    return status;
}

/* Whether the origin declares window identity for batches. */
static bool declares_windows(struct transport *transport)
{
    struct transport_request request = {.kind = TRANSPORT_PROBE, .fd = -1};
    struct transport_reply reply;
    struct reply_version version = {0};
    if (transport->submit(transport->self, &request) != GPUFL_OK) {
        return false;
    }
    while (!transport->next(transport->self, &reply)) {
        transport->poll(transport->self, 1000, -1);
    }
    if (reply.status == 200) {
        reply_read_version(reply.body, reply.body_len, &version);
    }
    return version.live_windows;
}

struct act {
    const struct arguments *arguments;
    struct engine *engine;
    struct transport transport; /* retry; else empty */
    bool window_headers;
    unsigned done;
    unsigned refused;
};

static bool act_on(struct act *act, const struct quarantined *range)
{
    char said[256];
    bool retry = act->transport.self != NULL;
    if (retry && quarantine_offer(act->engine, &act->transport, range,
                                  act->window_headers, said) != GPUFL_OK) {
        fprintf(stderr, "gpufl quarantine: %s is still refused: %s\n", range->name, said);
        act->refused++;
        return false;
    }
    if (quarantine_release(act->engine, range, retry) != GPUFL_OK) {
        fprintf(stderr, "gpufl quarantine: %s: the journal cannot be written\n",
                range->name);
        act->refused++;
        return false;
    }
    printf("%s  %s %s: %s\n", range->name, range->path, range->channel,
           retry ? "stored" : "given up");
    act->done++;
    return true;
}

static int act_on_all(struct act *act)
{
    struct quarantined range;
    for (size_t i = 0; quarantine_at(act->engine, i, &range);) {
        bool gone = is_named(act->arguments, &range) && act_on(act, &range);
        i += !gone; /* the next one has its place then */
    }
    if (act->done + act->refused == 0 && !act->arguments->all) {
        return fail(EXIT_NOT_ALL, "no such range; see gpufl quarantine list");
    }
    return act->refused ? EXIT_NOT_ALL : EXIT_ALL_DONE;
}

static int act(struct arguments *a, bool retry)
{
    struct act act = {.arguments = a};
    char why[512] = "out of memory";
    int rc = EXIT_BAD_USE;
    if (retry && (!a->http.backend_url || !*a->http.backend_url)) {
        return fail(rc, "retry needs --backend-url (GPUFL_BACKEND_URL)");
    }
    gpufl_status status = open_engine(a, &act.engine, why);
    if (status == GPUFL_OK && retry) {
        status = transport_http_open(&a->http, &act.transport, why);
        act.window_headers = status == GPUFL_OK && declares_windows(&act.transport);
    }
    rc = status == GPUFL_OK ? act_on_all(&act) : fail(rc, why);
    engine_close(act.engine);
    transport_http_close(&act.transport);
    return rc;
}

/* ---- arguments ---- */

static bool take_option(int c, struct arguments *a)
{
    switch (c) {
    case 'a':
        a->all = true;
        return true;
    case 'j':
        a->json = true;
        return true;
    case 'd':
        a->state_dir = optarg;
        return true;
    case 'u':
        a->http.backend_url = optarg;
        return true;
    case 'k':
        snprintf(a->key, sizeof a->key, "%s", optarg);
        memset(optarg, 'x', strlen(optarg)); /* not for everybody's ps */
        a->http.token = a->key;
        return true;
    case 'p':
        a->http.api_path = optarg;
        return true;
    case 'C':
        a->http.ca_file = optarg;
        return true;
    default:
        return false;
    }
}

int verb_quarantine(int argc, char **argv)
{
    static const struct option options[] = {{"all", no_argument, NULL, 'a'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"state-dir", required_argument, NULL, 'd'},
                                            {"backend-url", required_argument, NULL, 'u'},
                                            {"api-key", required_argument, NULL, 'k'},
                                            {"api-path", required_argument, NULL, 'p'},
                                            {"ca-file", required_argument, NULL, 'C'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    struct arguments a = {.http = {.backend_url = getenv("GPUFL_BACKEND_URL"),
                                   .token = getenv("GPUFL_API_KEY"),
                                   .api_path = getenv("GPUFL_API_PATH"),
                                   .user_agent = "gpufl/" GPUFL_VERSION,
                                   .option_name = upload_flag_of,
                                   .connect_timeout_ms = 10000,
                                   .read_timeout_ms = 30000,
                                   .total_timeout_ms = 300000}};
    for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) >= 0;) {
        if (!take_option(c, &a)) {
            fputs(usage, c == 'h' ? stdout : stderr);
            return c == 'h' ? EXIT_ALL_DONE : EXIT_BAD_USE;
        }
    }
    const char *what = optind < argc ? argv[optind] : "";
    a.dir = optind + 1 < argc ? argv[optind + 1] : NULL;
    a.names = argv + optind + 2;
    a.count = argc - optind - 2;
    bool list = strcmp(what, "list") == 0;
    bool show = strcmp(what, "show") == 0;
    bool retry = strcmp(what, "retry") == 0;
    bool known = list || show || retry || strcmp(what, "drop") == 0;
    if (!known || !a.dir || (list ? a.count != 0 : a.count < 1 && !a.all)) {
        fputs(usage, stderr);
        return EXIT_BAD_USE;
    }
    return list || show ? look(&a, show) : act(&a, retry);
}
