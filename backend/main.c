/* SPDX-License-Identifier: Apache-2.0 */
/* A local stand-in for the hosted service: the program gpufl-backend. */
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "backend/backend_options.h"
#include "backend/http/http.h"
#include "backend/http/http_listen.h"
#include "backend/store/retention.h"
#include "backend/store/store_retention.h"
#include "base/message.h"
#include "base/standard_output.h"

static int cannot_start(const char *what, const char *why)
{
    message_line("gpufl-backend", "%s: %s", what, why);
    return 1;
}

static void print_address(const struct backend_options *options, uint16_t port)
{
    bool six = options->listen.sock.ss_family == AF_INET6;
    printf("gpufl-backend: http://%s%s%s:%u/ (database %s)\n", six ? "[" : "",
           options->listen.host, six ? "]" : "", port, options->db);
    fflush(stdout);
}

static int backend_serve(const struct backend_options *options, const sigset_t *stop)
{
    char why[256];
    struct store *store;
    struct http_server *server;
    static const struct timespec second = {.tv_sec = 1};
    int listener = http_listen(&options->listen, why);
    if (listener < 0) {
        return cannot_start("--listen", why);
    }
    if (store_open(options->db, &store, why) != GPUFL_OK) {
        return cannot_start("--db", why);
    }
    struct http_config config = {
        .listener = listener,
        .api_key = *options->api_key ? options->api_key : NULL,
        .store = store,
        .retention = {(unsigned)options->retain_days, options->max_db_bytes}};
    while (retention_step(store, &config.retention)) {
    }
    if (http_start(&config, &server, why) != GPUFL_OK) {
        store_close(store);
        return cannot_start("--listen", why);
    }
    print_address(options, http_port(server));
    while (sigtimedwait(stop, NULL, &second) < 0) {
        http_sweep(server);
    }
    http_stop(server);
    store_say_deleted(store, true);
    store_close(store);
    return 0;
}

int main(int argc, char **argv)
{
    struct backend_options options = {0};
    sigset_t stop;
    int rc = backend_options_read(argc, argv, &options);
    if (rc != FLAGS_GO_ON) {
        return standard_output_end("gpufl-backend", rc);
    }
    sigemptyset(&stop);
    sigaddset(&stop, SIGINT);
    sigaddset(&stop, SIGTERM);
    sigprocmask(SIG_BLOCK, &stop, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file size limit is an error of write(2) */
    return backend_serve(&options, &stop);
}
