/* SPDX-License-Identifier: Apache-2.0 */
/* Sends one request to the agent of this host. */
#include "agent/healthcheck.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/address.h"
#include "base/flag.h"
#include "base/message.h"
#include "base/nearest.h"

#define HEALTHCHECK_WAIT_S 3

static const char usage[] =
    "Usage: gpufl-agent healthcheck [--ready] [--listen=ADDRESS:PORT]\n"
    "Ask the agent of this host for /healthz, and print its answer.\n"
    "\n"
    "  --ready\n"
    "      ask for /readyz instead\n"
    "  --listen=ADDRESS:PORT\n"
    "      where the agent listens (default " HEALTHCHECK_ADDRESS ")\n"
    "      environment: GPUFL_AGENT_LISTEN\n"
    "  -h, --help\n"
    "      print this help\n"
    "  -V, --version\n"
    "      print the version\n"
    "\n"
    "Exit status: 0 healthy, 1 unhealthy or no answer, 2 usage error.\n";

static bool refuse_argument(const char *arg, char why[512])
{
    static const char *const known[] = {"--listen", "--ready", "--help", "--version"};
    char word[100];
    if (strcmp(arg, "--listen") == 0) {
        snprintf(why, 512, "--listen: missing value (expected ADDRESS:PORT)");
        return false;
    }
    snprintf(word, sizeof word, "%.*s", (int)strcspn(arg, "="), arg);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(word, known[i]) == 0) { /* with a value, else it had been taken */
            snprintf(why, 512, "%s: unexpected value '%.*s%s' (it takes none)", word,
                     MESSAGE_VALUE(arg + strlen(word) + 1, 100));
            return false;
        }
    }
    if (arg[0] != '-') {
        snprintf(why, 512,
                 "'%.*s%s': unexpected argument (see gpufl-agent healthcheck --help)",
                 MESSAGE_VALUE(arg, 100));
        return false;
    }
    const char *near = nearest_name(word, known, sizeof known / sizeof known[0]);
    snprintf(why, 512, "%s: unknown option (%s%s%s)", word,
             near ? "did you mean " : "see gpufl-agent healthcheck --help",
             near ? near : "", near ? "?" : "");
    return false;
}

bool healthcheck_parse(int argc, char **argv, struct healthcheck_request *out,
                       char why[512])
{
    const char *listen = getenv("GPUFL_AGENT_LISTEN");
    *out = (struct healthcheck_request){
        .listen = HEALTHCHECK_ADDRESS, .listen_name = "--listen", .path = "/healthz"};
    if (listen && !flag_is_blank(listen)) { /* else it counts as unset */
        out->listen = listen;
        out->listen_name = "GPUFL_AGENT_LISTEN";
    }
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        if (strncmp(arg, "--listen=", 9) == 0) {
            out->listen = arg + 9;
            out->listen_name = "--listen";
        } else if (strcmp(arg, "--listen") == 0 && i + 1 < argc) {
            out->listen = argv[++i];
            out->listen_name = "--listen";
        } else if (strcmp(arg, "--ready") == 0) {
            out->path = "/readyz";
        } else if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
            out->help = true;
        } else if (strcmp(arg, "--version") == 0 || strcmp(arg, "-V") == 0) {
            out->version = true;
        } else {
            return refuse_argument(arg, why);
        }
    }
    if (flag_is_blank(out->listen)) {
        snprintf(why, 512, "--listen: empty (give ADDRESS:PORT, or leave it out)");
        return false;
    }
    return true;
}

int healthcheck_reply(const char *reply, char *body, size_t size)
{
    const char *text = strstr(reply, "\r\n\r\n");
    int status = 0;
    if (sscanf(reply, "HTTP/1.%*d %d", &status) != 1 || !text) {
        return 0;
    }
    snprintf(body, size, "%.*s", (int)strcspn(text + 4, "\r\n"), text + 4);
    return status;
}

/* \return the answer's status, 0 = none; \p body then says why. */
static int ask_agent(int fd, const struct address *address, const char *path, char *body,
                     size_t size)
{
    char request[128];
    char reply[2048] = "";
    size_t len = 0;
    int n = snprintf(request, sizeof request,
                     "GET %s HTTP/1.1\r\nHost: gpufl-agent\r\n\r\n", path);
    if (connect(fd, (const struct sockaddr *)&address->sock, address->sock_len) < 0 ||
        write(fd, request, (size_t)n) != n) {
        snprintf(body, size, "no answer from %s port %u: %s", address->host,
                 address->port, strerror(errno));
        return 0;
    }
    for (ssize_t got; len < sizeof reply - 1 &&
                      (got = read(fd, reply + len, sizeof reply - 1 - len)) > 0;) {
        len += (size_t)got;
    }
    reply[len] = '\0';
    int status = healthcheck_reply(reply, body, size);
    if (status == 0) {
        snprintf(body, size, "%s port %u: not an answer of gpufl-agent", address->host,
                 address->port);
    }
    return status;
}

int healthcheck(int argc, char **argv)
{
    struct healthcheck_request request;
    struct address address;
    char body[600];
    char why[512];
    if (!healthcheck_parse(argc, argv, &request, why)) {
        message_line("gpufl-agent healthcheck", "%s", why);
        return 2;
    }
    if (request.help || request.version) {
        fputs(request.help ? usage : "gpufl-agent " GPUFL_VERSION " (wire v1)\n", stdout);
        return 0;
    }
    const char *way_out = address_parse(request.listen, &address);
    if (way_out) {
        message_line("gpufl-agent healthcheck", "%s: invalid value '%.*s%s' (%s)",
                     request.listen_name, MESSAGE_VALUE(request.listen, 100), way_out);
        return 2;
    }
    struct timeval wait = {.tv_sec = HEALTHCHECK_WAIT_S};
    int fd = socket(address.sock.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
    int status = ask_agent(fd, &address, request.path, body, sizeof body);
    close(fd);
    fprintf(status == 200 ? stdout : stderr, "gpufl-agent healthcheck: %s\n", body);
    return status == 200 ? 0 : 1;
}
