/* SPDX-License-Identifier: Apache-2.0 */
/* Runs libmicrohttpd. One thread serves all connections, so the store needs no lock; what
 * bodies say is read beside it. */
#include "backend/http/http.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/http/http_auth.h"
#include "backend/http/http_peers.h"
#include "backend/http/http_respond.h"
#include "backend/http/http_route.h"
#include "backend/http/http_site.h"
#include "backend/http/http_strict.h"
#include "base/address.h"
#include "base/sys.h"

#define SEND_S 75u /* without a byte; what is to come, http_peers.h limits */

struct http_server {
    struct MHD_Daemon *daemon;
    struct http_service service;
    struct peers peers;
};

/* NULL when there was no room. */
static struct peer *peer_of(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static void on_connection(void *arg, struct MHD_Connection *c, void **context,
                          enum MHD_ConnectionNotificationCode what)
{
    struct http_server *server = arg;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (*context) {
            peers_leave(*context);
        }
        return;
    }
    const union MHD_ConnectionInfo *fd =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    int socket = fd->connect_fd;
    const union MHD_ConnectionInfo *address =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    *context =
        peers_enter(&server->peers, socket, address->client_addr, sys_real.now_ms());
}

static enum MHD_Result route(struct http_server *server, struct MHD_Connection *c,
                             const struct http_request *request)
{
    struct peer *peer = peer_of(c);
    if (peer) {
        peers_enter_phase(
            peer, http_route_is_endless(request) ? PEER_LISTENING : PEER_ANSWERING,
            sys_real.now_ms());
    }
    return http_route(&server->service, c, request);
}

/* Of such a request, nobody knows where it ends. */
static enum MHD_Result refuse_unclear(struct MHD_Connection *c, const char *why)
{
    struct peer *peer = peer_of(c);
    if (peer) {
        peers_begin(peer, false, sys_real.now_ms());
        peers_enter_phase(peer, PEER_ANSWERING, sys_real.now_ms());
    }
    return http_respond_last(c, 400, why);
}

/* A refusal waits for the end of the body, as a sender might not read it before; one that
 * asks first, by Expect, has it at once. */
static enum MHD_Result on_headers(struct http_server *server, struct MHD_Connection *c,
                                  const struct http_request *request, void **state)
{
    struct body *in = calloc(1, sizeof *in);
    struct peer *peer = peer_of(c);
    bool allowed = http_auth_allows(c, server->service.api_key) &&
                   !http_site_refuses(c, request->method, server->service.any_host);
    if (peer) {
        peers_begin(peer, allowed, sys_real.now_ms());
    }
    *state = in;
    if (!in) {
        return MHD_NO;
    }
    in->unwanted = !allowed || !http_route_wants_body(request);
    if (in->unwanted && MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Expect")) {
        return route(server, c, request);
    }
    return MHD_YES;
}

/* What is left of a request that has its answer is read, so that the answer arrives. */
static enum MHD_Result skip_answered(void **state)
{
    struct body *in = calloc(1, sizeof *in);
    if (in) {
        *in = (struct body){.unwanted = true, .answered = true};
    }
    *state = in;
    return in ? MHD_YES : MHD_NO;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *c, const char *url,
                                  const char *method, const char *version,
                                  const char *data, size_t *data_len, void **state)
{
    struct http_server *server = arg;
    struct http_request request = {.method = method, .url = url};
    if (http_strict_is_answered(*state)) {
        return skip_answered(state);
    }
    if (!*state) {
        const char *why = http_strict_refuses(c, version);
        return why ? refuse_unclear(c, why) : on_headers(server, c, &request, state);
    }
    struct body *in = *state;
    if (*data_len > 0) {
        struct peer *peer = peer_of(c);
        if (peer) {
            peers_received(peer, *data_len);
        }
        body_take(in, data, *data_len);
        *data_len = 0;
        return MHD_YES;
    }
    if (in->answered) {
        return MHD_NO;
    }
    request.body = in;
    struct peer *peer = peer_of(c);
    if (peer) {
        peers_enter_phase(peer, PEER_ANSWERING, sys_real.now_ms());
    }
    return http_route_reads_ahead(&server->service, c, &request)
               ? MHD_YES
               : route(server, c, &request);
}

static void on_done(void *arg, struct MHD_Connection *c, void **state,
                    enum MHD_RequestTerminationCode why)
{
    struct http_server *server = arg;
    struct body *in = http_strict_is_answered(*state) ? NULL : *state;
    struct peer *peer = peer_of(c);
    (void)why;
    if (peer) {
        peers_enter_phase(peer, PEER_WAITING, sys_real.now_ms());
    }
    if (in) {
        body_fini(in);
        free(in);
    }
    retention_step(server->service.store, &server->service.retention);
}

/* Others could reach it by any name. */
static bool listens_beyond_loopback(int listener)
{
    struct address at = {.sock_len = sizeof at.sock};
    return getsockname(listener, (struct sockaddr *)&at.sock, &at.sock_len) < 0 ||
           !address_is_loopback(&at);
}

gpufl_status http_start(const struct http_config *config, struct http_server **out,
                        char why[256])
{
    *out = NULL;
    struct http_server *server = calloc(1, sizeof *server);
    if (!server) {
        snprintf(why, 256, "out of memory");
        return GPUFL_ERR_NOMEM;
    }
    server->service.store = config->store;
    server->service.retention = config->retention;
    server->service.api_key = config->api_key ? strdup(config->api_key) : NULL;
    server->service.any_host =
        config->api_key || listens_beyond_loopback(config->listener);
    pthread_mutex_init(&server->service.changes.lock, NULL);
    peers_init(&server->peers);
    read_ahead_start(&server->service.ahead);
    server->daemon = MHD_start_daemon(
        MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0,
        NULL, NULL, on_request, server, MHD_OPTION_LISTEN_SOCKET, config->listener,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_NOTIFY_COMPLETED,
        on_done, server, MHD_OPTION_CONNECTION_LIMIT, PEERS_MAX,
        MHD_OPTION_CONNECTION_TIMEOUT, SEND_S, MHD_OPTION_URI_LOG_CALLBACK,
        http_strict_uri, NULL, MHD_OPTION_UNESCAPE_CALLBACK, http_strict_unescape, NULL,
        MHD_OPTION_END);
    if (!server->daemon) {
        snprintf(why, 256, "cannot start the server: %s", strerror(errno));
        http_stop(server);
        return GPUFL_ERR_IO;
    }
    *out = server;
    return GPUFL_OK;
}

uint16_t http_port(const struct http_server *server)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT);
    return info ? info->port : 0;
}

void http_sweep(struct http_server *server)
{
    peers_sweep(&server->peers, sys_real.now_ms());
}

void http_stop(struct http_server *server)
{
    changes_close(&server->service.changes);
    read_ahead_stop(&server->service.ahead);
    if (server->daemon) {
        MHD_stop_daemon(server->daemon);
    }
    pthread_mutex_destroy(&server->service.changes.lock);
    pthread_cond_destroy(&server->service.ahead.turn);
    pthread_mutex_destroy(&server->service.ahead.lock);
    peers_fini(&server->peers);
    free(server->service.api_key);
    free(server);
}
