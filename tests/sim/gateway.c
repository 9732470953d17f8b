/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the statuses of what is in front of the origin. */
#include "tests/sim/gateway.h"

#include <stdlib.h>
#include <string.h>

#include "tests/sim/lines.h"
#include "tests/support/pick.h"

#define DOUBTS_BELIEVED 3

void gateway_set(struct server *server, uint32_t draw)
{
    static const int status[] = {400, 402, 403, 409, 422, 507, 200};
    server->gateway =
        draw % 3 == 2 ? status[draw / 3 % (sizeof status / sizeof status[0])] : 0;
}

/* Of those that leave the lines with their sender. A single line is not refused for its
 * size. */
static int gateway_mood(const struct server_request *request)
{
    static const int status[] = {408, 425, 429, 500, 502, 503, 504, 401, 404};
    enum transport_kind kind = request->kind;
    /* A version that lacks it would answer so: that is believed. */
    unsigned believed = kind == TRANSPORT_PROBE ? 2 : kind == TRANSPORT_COMPLETE ? 1 : 0;
    if (kind == TRANSPORT_PARTS && request->len > 2000 && pick(3) == 0) {
        return 413;
    }
    return status[pick(sizeof status / sizeof status[0] - believed)];
}

static bool gateway_refuses(int status)
{
    return status == 400 || status == 422;
}

void gateway_hear(struct server *server, const struct server_request *request, int status)
{
    if (gateway_refuses(status) && request->kind == TRANSPORT_BATCH && request->has_id) {
        text_puts(&server->refused_ids, request->window_id);
        server_note_refused(server, request);
    }
}

int gateway_status(struct server *server, const struct server_request *request)
{
    bool claims = request->len > 0;
    if (!server->gateway) {
        return gateway_mood(request);
    }
    switch (request->kind) {
    case TRANSPORT_PROBE:
        return pick(2) ? server->gateway : 503;
    case TRANSPORT_COMPLETE: /* an origin that had closed the session would answer so */
        return server->gateway == 409 && !claims ? 503 : server->gateway;
    case TRANSPORT_BATCH:
        server->closed |= server->gateway == 409;
        server->refused |= gateway_refuses(server->gateway);
        return server->gateway;
    case TRANSPORT_PARTS:
        server->refused |= gateway_refuses(server->gateway);
        return server->gateway;
    default:
        return server->gateway;
    }
}

int gateway_pass(struct server *server, const struct server_request *request,
                 struct text *answer)
{
    const struct text *ids = &server->refused_ids;
    const char *id = request->window_id;
    if (!id[0] || !ids->len || !memmem(ids->data, ids->len, id, strlen(id))) {
        return server_answer(server, request, answer);
    }
    char *before = server_stored(server, request->session, request->channel);
    int status = server_answer(server, request, answer);
    char *after = server_stored(server, request->session, request->channel);
    lines_without(&server->again, after, before); /* in whatever order they are */
    free(before);
    free(after);
    return status;
}

void gateway_note_probe(struct server *server, int status, bool page, unsigned *doubts)
{
    bool waits =
        status == 404 || status == 405 || status == 408 || status == 425 || status == 429;
    bool doubt = (status >= 400 && status <= 499 && !waits) || (status == 200 && page);
    *doubts = doubt ? *doubts + 1 : 0;
    if (*doubts >= DOUBTS_BELIEVED) {
        server->doubted = server->hid = true;
    }
}
