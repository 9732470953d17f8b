/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/healthcheck.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/address.h"

#define WAIT_S 3

static const char usage[] =
    "Usage: gpufl-agent healthcheck [--ready] [--listen=ADDRESS:PORT]\n"
    "Asks the agent that listens there (GPUFL_AGENT_LISTEN, " HEALTHCHECK_ADDRESS
    ") for /healthz, with\n"
    "--ready for /readyz, and prints what it says.\n"
    "Exit: 0 healthy; 1 not, or nobody answers; 2 wrong use.\n";

/* \return the answer's status, 0 = none. */
static int ask(int fd, const struct address *address, const char *path, char *body,
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
    const char *text = strstr(reply, "\r\n\r\n");
    int status = 0;
    if (sscanf(reply, "HTTP/1.%*d %d", &status) != 1 || !text) {
        snprintf(body, size, "%s port %u does not answer as gpufl-agent does",
                 address->host, address->port);
        return 0;
    }
    snprintf(body, size, "%.*s", (int)strcspn(text + 4, "\r\n"), text + 4);
    return status;
}

int healthcheck(int argc, char **argv)
{
    const char *listen = getenv("GPUFL_AGENT_LISTEN");
    const char *path = "/healthz";
    struct address address;
    char body[600];
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--listen=", 9) == 0) {
            listen = argv[i] + 9;
        } else if (strcmp(argv[i], "--ready") == 0) {
            path = "/readyz";
        } else {
            bool help = strcmp(argv[i], "--help") == 0;
            fputs(usage, help ? stdout : stderr);
            return help ? 0 : 2;
        }
    }
    listen = listen && *listen ? listen : HEALTHCHECK_ADDRESS;
    const char *way_out = address_parse(listen, &address);
    if (way_out) {
        fprintf(stderr, "gpufl-agent healthcheck: \"%.100s\": %s\n", listen, way_out);
        return 2;
    }
    struct timeval wait = {.tv_sec = WAIT_S};
    int fd = socket(address.sock.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
    int status = ask(fd, &address, path, body, sizeof body);
    close(fd);
    fprintf(status == 200 ? stdout : stderr, "gpufl-agent healthcheck: %s\n", body);
    return status == 200 ? 0 : 1;
}
