/* SPDX-License-Identifier: Apache-2.0 */
/* Runs requests by libcurl's multi interface on handles that keep their connections. */
#include "upload/http/transport_http.h"

#include <curl/curl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "upload/http/credentials.h"
#include "upload/http/http_slot.h"
#include "upload/http/system_trust.h"

/* Enough for an incompressible frame of 1 MiB and its end. */
#define CALLS_AT_ONCE 34u

struct transport_http {
    CURLM *multi;
    struct transport_http_config config; /* its numbers */
    struct credentials credentials;
    bool by_name; /* see http_slot */
    struct http_slot slot[TRANSPORT_SLOTS_ALL];
    uint64_t sent_bytes; /* of all bodies ever */
};

static bool http_begin(struct transport_http *http, struct http_slot *slot)
{
    slot->sent_bytes = &http->sent_bytes;
    slot->sent = slot->reply_len = slot->reply_seen = 0;
    slot->repeated = false;
    slot->headers_seen = (struct reply_headers){0};
    slot->server_time_s = 0;
    slot->error[0] = '\0';
    slot->by_name = http->by_name;
    slot->busy = true;
    if ((slot->easy || (slot->easy = curl_easy_init())) &&
        http_slot_prepare(slot, &http->config, &http->credentials) &&
        curl_multi_add_handle(http->multi, slot->easy) == CURLM_OK) {
        return true;
    }
    http_slot_release(slot);
    return false;
}

static gpufl_status http_submit(void *self, const struct transport_request *request)
{
    struct transport_http *http = self;
    struct http_slot *slot = http->slot;
    while (slot < http->slot + TRANSPORT_SLOTS_ALL && slot->busy) {
        slot++;
    }
    if (slot == http->slot + TRANSPORT_SLOTS_ALL) {
        return GPUFL_BUSY;
    }
    slot->request = *request;
    return http_begin(http, slot) ? GPUFL_OK : GPUFL_ERR_NOMEM;
}

/* The system's file of certificates may have one that its directory lacks, as where a
 * container was given another file. */
static bool http_trusts_more(struct transport_http *http, struct http_slot *slot)
{
    if (slot->result != CURLE_PEER_FAILED_VERIFICATION || !slot->by_name) {
        return false;
    }
    http->by_name = false;
    http_slot_release(slot);
    bool again = http_begin(http, slot);
    slot->busy = true; /* without memory, it has its answer */
    return again;
}

static void collect_finished(struct transport_http *http)
{
    int running;
    int left;
    uint64_t before;
    unsigned calls = 0;
    /* Each call sends one buffer of a body. The caller compresses the next frame after
     * this, so send all that the sockets take; a large window goes in parts. */
    do {
        before = http->sent_bytes;
        curl_multi_perform(http->multi, &running);
    } while (http->sent_bytes != before && ++calls < CALLS_AT_ONCE);
    for (CURLMsg *m; (m = curl_multi_info_read(http->multi, &left));) {
        struct http_slot *slot;
        CURLcode result = m->data.result;
        if (m->msg != CURLMSG_DONE ||
            curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &slot) != CURLE_OK) {
            continue;
        }
        curl_multi_remove_handle(http->multi, slot->easy);
        slot->result = result;
        slot->finished = !http_trusts_more(http, slot);
    }
}

static bool http_next(void *self, struct transport_reply *reply)
{
    struct transport_http *http = self;
    collect_finished(http);
    for (size_t i = 0; i < TRANSPORT_SLOTS_ALL; i++) {
        struct http_slot *slot = &http->slot[i];
        if (slot->busy && slot->finished) {
            http_slot_reply(slot, &http->credentials, reply);
            http_slot_release(slot); /* keeps the buffer that the reply points to */
            return true;
        }
    }
    return false;
}

static void http_poll(void *self, uint64_t timeout_ms, int extra_fd)
{
    struct transport_http *http = self;
    struct curl_waitfd extra = {.fd = extra_fd, .events = CURL_WAIT_POLLIN};
    int ms = timeout_ms > INT_MAX ? INT_MAX : (int)timeout_ms;
    int ready;
    curl_multi_poll(http->multi, &extra, extra_fd >= 0 ? 1 : 0, ms, &ready);
}

static void http_wakeup(void *self)
{
    curl_multi_wakeup(((struct transport_http *)self)->multi);
}

static void transport_http_free(struct transport_http *http)
{
    for (size_t i = 0; i < TRANSPORT_SLOTS_ALL; i++) {
        struct http_slot *slot = &http->slot[i];
        if (slot->easy) {
            curl_multi_remove_handle(http->multi, slot->easy);
            curl_easy_cleanup(slot->easy);
        }
        curl_slist_free_all(slot->headers);
        free(slot->reply);
    }
    curl_multi_cleanup(http->multi);
    credentials_fini(&http->credentials);
    free(http);
}

gpufl_status transport_http_open(const struct transport_http_config *config,
                                 struct transport *out, char why[256])
{
    memset(out, 0, sizeof *out);
    /* Never cleaned up: other code in this process may use libcurl too. */
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        snprintf(why, 256, "libcurl: initialisation failed");
        return GPUFL_ERR_NOMEM;
    }
    struct transport_http *http = calloc(1, sizeof *http);
    if (!http) {
        snprintf(why, 256, "out of memory");
        return GPUFL_ERR_NOMEM;
    }
    http->config = *config;
    http->multi = curl_multi_init();
    gpufl_status status = credentials_init(&http->credentials, config, why);
    if (status == GPUFL_OK && !http->multi) {
        snprintf(why, 256, "out of memory");
        status = GPUFL_ERR_NOMEM;
    }
    if (status != GPUFL_OK) {
        transport_http_free(http);
        return status;
    }
    curl_multi_setopt(http->multi, CURLMOPT_MAXCONNECTS, (long)TRANSPORT_SLOTS_ALL);
    http->by_name = strncmp(http->credentials.prefix, "https:", 6) == 0 &&
                    !http->credentials.ca_file && system_trust_has_names();
    *out = (struct transport){.submit = http_submit,
                              .next = http_next,
                              .poll = http_poll,
                              .wakeup = http_wakeup,
                              .self = http};
    return GPUFL_OK;
}

enum exposure transport_http_exposure(const struct transport *transport)
{
    return exposure_of(((struct transport_http *)transport->self)->credentials.prefix);
}

void transport_http_identity(const struct transport *transport,
                             struct origin_identity *out)
{
    const struct transport_http *http = transport->self;
    origin_identity_make(http->credentials.prefix, http->credentials.token, out);
}

void transport_http_set_token(struct transport *transport, const char *token)
{
    credentials_set_token(&((struct transport_http *)transport->self)->credentials,
                          token);
}

void transport_http_close(struct transport *transport)
{
    if (transport->self) {
        transport_http_free(transport->self);
    }
    memset(transport, 0, sizeof *transport);
}
