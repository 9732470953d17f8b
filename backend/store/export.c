/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes one body at a time, so that memory does not depend on the channel's length. */
#include "backend/store/export.h"

#include <stdlib.h>
#include <string.h>

#include "backend/store/store_sessions.h"

struct export
{
    struct store *store;
    int64_t *body;
    size_t bodies;
    size_t at;
    char *data;
    size_t len;
    size_t sent;
};

gpufl_status export_open(struct store *store, int64_t session, const char *channel,
                         struct export **out)
{
    *out = NULL;
    struct export *e = calloc(1, sizeof *e);
    if (!e) {
        return GPUFL_ERR_NOMEM;
    }
    e->store = store;
    gpufl_status status = store_bodies(store, session, channel, &e->body, &e->bodies);
    if (status != GPUFL_OK) {
        export_close(e);
        return status;
    }
    *out = e;
    return GPUFL_OK;
}

ssize_t export_read(struct export *e, char *buf, size_t max)
{
    while (e->sent == e->len) {
        free(e->data);
        e->data = NULL;
        e->sent = e->len = 0;
        if (e->at == e->bodies) {
            return 0;
        }
        if (store_body_lines(e->store, e->body[e->at++], &e->data, &e->len) != GPUFL_OK) {
            return -1;
        }
    }
    size_t n = e->len - e->sent < max ? e->len - e->sent : max;
    memcpy(buf, e->data + e->sent, n);
    e->sent += n;
    return (ssize_t)n;
}

void export_close(struct export *e)
{
    free(e->body);
    free(e->data);
    free(e);
}
