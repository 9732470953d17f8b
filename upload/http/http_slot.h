/* SPDX-License-Identifier: Apache-2.0 */
/* One HTTP request over libcurl's easy interface, from its headers to its reply. */
#ifndef GPUFL_UPLOAD_HTTP_HTTP_SLOT_H
#define GPUFL_UPLOAD_HTTP_HTTP_SLOT_H

#include <curl/curl.h>

#include "upload/http/credentials.h"
#include "upload/http/http_config.h"
#include "upload/http/reply.h"
#include "upload/http/transport.h"

struct http_slot {
    uint64_t *sent_bytes; /**< of all bodies of the transport */
    CURL *easy;
    bool busy;
    bool finished;
    CURLcode result;
    struct curl_slist *headers;
    bool by_name; /**< see system_trust.h: nothing else of the system is trusted */
    struct transport_request request;
    size_t sent;
    bool repeated; /**< libcurl sent the body again after the server may have got it */
    char *reply;
    size_t reply_len;
    size_t reply_seen;
    struct reply_headers headers_seen;
    int64_t server_time_s;
    char error[CURL_ERROR_SIZE];
};

/** Prepares the easy handle for slot->request. \return false without memory. */
bool http_slot_prepare(struct http_slot *slot, const struct transport_http_config *limits,
                       const struct credentials *credentials);

/** Describes the finished request. \p out is valid until the slot's next request. */
void http_slot_reply(struct http_slot *slot, const struct credentials *credentials,
                     struct transport_reply *out);

/** Frees the slot for another request; keeps its handle, connection and buffer. */
void http_slot_release(struct http_slot *slot);

#endif
