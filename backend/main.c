/* SPDX-License-Identifier: Apache-2.0 */
/* gpufl-backend: a local stand-in for the hosted service. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/http/http.h"

#define DAYS_MAX     36500u
#define DB_BYTES_MIN (1u << 20)

static const char usage[] =
    "Usage: gpufl-backend [options]\n"
    "Stores what gpufl-agent and gpufl upload send, and shows it at "
    "http://ADDRESS:PORT/.\n"
    "\n"
    "  --listen ADDRESS:PORT  where to listen (127.0.0.1:8765; port 0 = any free one)\n"
    "  --db FILE              the database, made if missing (gpufl-backend.db)\n"
    "  --api-key KEY          ask every client for this key; also "
    "GPUFL_BACKEND_API_KEY,\n"
    "                         which does not show in the process list\n"
    "  --retain-days N        delete sessions this long after their last line (0 = "
    "never)\n"
    "  --max-db-bytes SIZE    delete the oldest sessions beyond this, for example 20GiB "
    "(0 =\n"
    "                         no bound); 1 MiB or more\n"
    "  --help, --version\n"
    "\n"
    "Stop it with SIGINT or SIGTERM. Exit: 0 stopped, 1 cannot start, 2 usage.\n";

struct arguments {
    struct address address;
    const char *db;
    const char *api_key;
    char key[1024];
    struct retention retention;
};

static int bad(const char *what, const char *value, const char *way_out)
{
    fprintf(stderr, "gpufl-backend: %s \"%s\": %s\n", what, value, way_out);
    return 2;
}

static int parse_listen(const char *text, struct arguments *out)
{
    const char *way_out = address_parse(text, &out->address);
    return way_out ? bad("--listen", text, way_out) : 0;
}

static int parse_days(const char *text, struct retention *out)
{
    char *end = NULL;
    errno = 0;
    unsigned long days = strtoul(text, &end, 10);
    if (errno || end == text || *end || text[0] == '-' || days > DAYS_MAX) {
        return bad("--retain-days", text, "give a number of days, 0 to 36500");
    }
    out->days = (unsigned)days;
    return 0;
}

static int parse_bytes(const char *text, struct retention *out)
{
    static const struct {
        const char *unit;
        unsigned shift;
    } units[] = {{"", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}};
    char *end = NULL;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (!errno && end != text && text[0] != '-' && strcmp(end, units[i].unit) == 0 &&
            number <= UINT64_MAX >> units[i].shift) {
            out->max_bytes = (uint64_t)number << units[i].shift;
            if (out->max_bytes == 0 || out->max_bytes >= DB_BYTES_MIN) {
                return 0;
            }
        }
    }
    return bad("--max-db-bytes", text, "give 1MiB or more, for example 500MiB or 20GiB");
}

/* \return -1 to go on, else the exit code. */
static int parse_arguments(int argc, char **argv, struct arguments *out)
{
    static const struct option options[] = {
        {"listen", required_argument, NULL, 'l'},
        {"db", required_argument, NULL, 'd'},
        {"api-key", required_argument, NULL, 'k'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'v'},
        {"retain-days", required_argument, NULL, 'r'},
        {"max-db-bytes", required_argument, NULL, 'm'},
        {0},
    };
    int rc = -1;
    for (int c; rc < 0 && (c = getopt_long(argc, argv, "h", options, NULL)) >= 0;) {
        switch (c) {
        case 'l':
            rc = parse_listen(optarg, out) ? 2 : -1;
            break;
        case 'd':
            out->db = optarg;
            break;
        case 'k':
            snprintf(out->key, sizeof out->key, "%s", optarg);
            memset(optarg, 'x', strlen(optarg)); /* not for everybody's ps */
            out->api_key = out->key;
            break;
        case 'r':
            rc = parse_days(optarg, &out->retention) ? 2 : -1;
            break;
        case 'm':
            rc = parse_bytes(optarg, &out->retention) ? 2 : -1;
            break;
        case 'h':
            fputs(usage, stdout);
            rc = 0;
            break;
        case 'v':
            puts("gpufl-backend " GPUFL_VERSION);
            rc = 0;
            break;
        default:
            fputs("gpufl-backend: see gpufl-backend --help\n", stderr);
            rc = 2;
        }
    }
    if (rc < 0 && optind < argc) {
        rc = bad("argument", argv[optind], "not expected, see gpufl-backend --help");
    }
    return rc;
}

int main(int argc, char **argv)
{
    struct arguments arguments = {.db = "gpufl-backend.db",
                                  .api_key = getenv("GPUFL_BACKEND_API_KEY")};
    char why[256];
    struct store *store;
    struct http_server *server;
    sigset_t stop;
    int signal_number;
    address_parse("127.0.0.1:8765", &arguments.address);
    int rc = parse_arguments(argc, argv, &arguments);
    if (rc >= 0) {
        return rc;
    }
    sigemptyset(&stop);
    sigaddset(&stop, SIGINT);
    sigaddset(&stop, SIGTERM);
    sigprocmask(SIG_BLOCK, &stop, NULL);
    signal(SIGPIPE, SIG_IGN);
    if (store_open(arguments.db, &store, why) != GPUFL_OK) {
        fprintf(stderr, "gpufl-backend: %s\n", why);
        return 1;
    }
    struct http_config config = {
        .address = &arguments.address,
        .api_key = arguments.api_key && *arguments.api_key ? arguments.api_key : NULL,
        .store = store,
        .retention = arguments.retention};
    while (retention_step(store, &arguments.retention)) {
    }
    if (http_start(&config, &server, why) != GPUFL_OK) {
        fprintf(stderr, "gpufl-backend: %s\n", why);
        store_close(store);
        return 1;
    }
    bool six = arguments.address.sock.ss_family == AF_INET6;
    printf("gpufl-backend: http://%s%s%s:%u/ (database %s)\n", six ? "[" : "",
           arguments.address.host, six ? "]" : "", http_port(server), arguments.db);
    fflush(stdout);
    sigwait(&stop, &signal_number);
    http_stop(server);
    store_close(store);
    return 0;
}
