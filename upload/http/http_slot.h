/* SPDX-License-Identifier: Apache-2.0 */
/* One request over libcurl's easy interface: from its lines to its reply. */
#ifndef GPUFL_UPLOAD_HTTP_HTTP_SLOT_H
#define GPUFL_UPLOAD_HTTP_HTTP_SLOT_H

#include <curl/curl.h>

#include "upload/http/credentials.h"
#include "upload/http/reply.h"
#include "upload/http/transport.h"
#include "upload/http/transport_http.h"

struct slot {
    uint64_t *sent_bytes; /**< of all bodies ever: the transport's */
    CURL *easy;
    bool busy;
    bool finished;
    CURLcode result;
    struct curl_slist *headers;
    struct transport_request request;
    size_t sent;
    char *reply;
    size_t reply_len;
    size_t reply_seen;
    struct reply_headers headers_seen;
    int64_t server_time_s;
    char error[CURL_ERROR_SIZE];
};

/** Sets the easy handle up for slot->request. \return false without memory. */
bool http_slot_prepare(struct slot *slot, const struct transport_http_config *limits,
                       const struct credentials *credentials);

/** After the request is over. What \p out points to lasts until the slot's next one. */
void http_slot_reply(struct slot *slot, const struct credentials *credentials,
                     struct transport_reply *out);

/** The slot is free again; its handle, with its connection, and its buffer stay. */
void http_slot_release(struct slot *slot);

#endif
