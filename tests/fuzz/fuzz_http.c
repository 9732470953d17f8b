/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes on a connection to gpufl-backend: its routes, headers, queries and bodies, by
 * a real socket. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/http/http.h"
#include "backend/http/http_listen.h"
#include "backend/store/store.h"

#define REQUESTS_A_STORE 5000u /* then a new one: what is stored is memory */

static struct http_server *server;
static struct store *store;

static void start(void)
{
    char why[256];
    struct address address;
    struct http_config config = {0};
    if (address_parse("127.0.0.1:0", &address)) {
        abort();
    }
    config.listener = http_listen(&address, why);
    if (config.listener < 0) {
        abort();
    }
    if (store_open(":memory:", &store, why) != GPUFL_OK) {
        abort();
    }
    config.store = store;
    if (http_start(&config, &server, why) != GPUFL_OK) {
        abort();
    }
}

static void again(void)
{
    static unsigned requests;
    if (server && ++requests % REQUESTS_A_STORE) {
        return;
    }
    if (server) {
        http_stop(server);
        store_close(store);
    }
    start();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char reply[16384];
    again();
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(http_port(server))};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (const struct sockaddr *)&to, sizeof to) < 0) {
        abort(); /* it must always be there */
    }
    struct linger now = {.l_onoff = 1}; /* no port is left behind in TIME_WAIT */
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    /* Not to the end of the connection: the server keeps it for the next request. */
    struct timeval little = {.tv_usec = 5000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &little, sizeof little);
    if (send(fd, data, size, MSG_NOSIGNAL) >= 0) {
        (void)recv(fd, reply, sizeof reply, 0);
    }
    close(fd);
    return 0;
}
