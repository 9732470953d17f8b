/* SPDX-License-Identifier: Apache-2.0 */
/* The only file that includes libcurl. Eight easy handles, reused with their connections.
 */
#include "upload/transport_http.h"

#include <curl/curl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "schema/protocol.h"
#include "upload/caller.h"
#include "upload/reply.h"
#include "upload/request_headers.h"

#define REPLY_CAP 65536u
/* Half of libcurl's own, ten times: no slower. */
#define UPLOAD_BUFFER_BYTES 32768L
/* A frame that did not compress: 1 MiB, and its end. */
#define CALLS_AT_ONCE 34u
/* A reply beyond this is cut off: the server is not what it should be. */
#define REPLY_ABORT (1u << 20)

struct slot {
    struct http *http;
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
    char error[CURL_ERROR_SIZE];
};

struct http {
    CURLM *multi;
    struct transport_http_config config; /* its numbers */
    struct caller caller;
    struct slot slot[TRANSPORT_SLOTS];
    uint64_t sent_bytes; /* of all bodies ever */
};

/* ---- callbacks of libcurl ------------------------------------------------------------
 */

static size_t on_reply(char *data, size_t size, size_t count, void *arg)
{
    struct slot *slot = arg;
    size_t len = size * count;
    size_t room = REPLY_CAP - slot->reply_len;
    size_t keep = len < room ? len : room;
    memcpy(slot->reply + slot->reply_len, data, keep);
    slot->reply_len += keep;
    slot->reply_seen += len;
    return slot->reply_seen > REPLY_ABORT ? 0 : len;
}

static size_t on_header(char *data, size_t size, size_t count, void *arg)
{
    struct slot *slot = arg;
    reply_read_header(data, size * count, &slot->headers_seen);
    return size * count;
}

static size_t on_read(char *buf, size_t size, size_t count, void *arg)
{
    struct slot *slot = arg;
    const struct transport_request *r = &slot->request;
    size_t want = size * count;
    size_t left = r->body_len - slot->sent;
    want = want < left ? want : left;
    ssize_t n = (ssize_t)want;
    if (r->body) {
        memcpy(buf, (const char *)r->body + slot->sent, want);
    } else {
        n = pread(r->fd, buf, want, (off_t)slot->sent);
    }
    if (n < 0 || (n == 0 && want > 0)) {
        return CURL_READFUNC_ABORT; /* the file shrank: never send a short body */
    }
    slot->sent += (size_t)n;
    slot->http->sent_bytes += (uint64_t)n;
    return (size_t)n;
}

/* ---- requests ------------------------------------------------------------------------
 */

static bool set_headers(struct http *http, struct slot *slot)
{
    struct request_headers lines;
    if (!request_headers_make(&slot->request, http->caller.token, http->caller.hostname,
                              &lines)) {
        return false;
    }
    for (unsigned i = 0; i < lines.count; i++) {
        struct curl_slist *more = curl_slist_append(slot->headers, lines.line[i]);
        if (!more) {
            return false;
        }
        slot->headers = more;
    }
    explicit_bzero(&lines, sizeof lines);
    return true;
}

static void set_body(struct slot *slot)
{
    const struct transport_request *r = &slot->request;
    if (r->kind == TRANSPORT_PROBE) {
        curl_easy_setopt(slot->easy, CURLOPT_HTTPGET, 1L);
        return;
    }
    curl_easy_setopt(slot->easy, CURLOPT_POST, 1L);
    curl_easy_setopt(slot->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body_len);
    /* By callback, and without a way to go back: on a connection that turns out dead
     * libcurl would send the body a second time by itself, and we would never know that
     * the first one may have arrived. */
    curl_easy_setopt(slot->easy, CURLOPT_POSTFIELDS, NULL);
    curl_easy_setopt(slot->easy, CURLOPT_READFUNCTION, on_read);
    curl_easy_setopt(slot->easy, CURLOPT_READDATA, slot);
}

static void set_limits(struct http *http, CURL *easy)
{
    long low_s = (long)(http->config.read_timeout_ms + 999) / 1000;
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE);
    if (http->caller.ca_file) {
        curl_easy_setopt(easy, CURLOPT_CAINFO, http->caller.ca_file);
    }
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
    curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, UPLOAD_BUFFER_BYTES);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                     (long)http->config.connect_timeout_ms);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, low_s > 0 ? low_s : 1L);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)http->config.total_timeout_ms);
}

static const char *suffix(enum transport_kind kind)
{
    static const char *const path[] = {PROTOCOL_VERSION, PROTOCOL_STREAM,
                                       PROTOCOL_SESSION_COMPLETE};
    return path[kind];
}

static bool prepare(struct http *http, struct slot *slot)
{
    char url[640];
    snprintf(url, sizeof url, "%s%s", http->caller.prefix, suffix(slot->request.kind));
    if (!slot->reply) {
        slot->reply = malloc(REPLY_CAP);
    }
    if (!slot->reply || !set_headers(http, slot)) {
        return false;
    }
    curl_easy_reset(slot->easy);
    set_limits(http, slot->easy);
    curl_easy_setopt(slot->easy, CURLOPT_URL, url);
    curl_easy_setopt(slot->easy, CURLOPT_USERAGENT, http->caller.user_agent);
    curl_easy_setopt(slot->easy, CURLOPT_HTTPHEADER, slot->headers);
    curl_easy_setopt(slot->easy, CURLOPT_WRITEFUNCTION, on_reply);
    curl_easy_setopt(slot->easy, CURLOPT_WRITEDATA, slot);
    curl_easy_setopt(slot->easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(slot->easy, CURLOPT_HEADERDATA, slot);
    curl_easy_setopt(slot->easy, CURLOPT_ERRORBUFFER, slot->error);
    curl_easy_setopt(slot->easy, CURLOPT_PRIVATE, slot);
    set_body(slot);
    return true;
}

static void release(struct slot *slot)
{
    curl_slist_free_all(slot->headers);
    slot->headers = NULL;
    slot->busy = slot->finished = false;
}

static gpufl_status http_submit(void *self, const struct transport_request *request)
{
    struct http *http = self;
    struct slot *slot = http->slot;
    while (slot < http->slot + TRANSPORT_SLOTS && slot->busy) {
        slot++;
    }
    if (slot == http->slot + TRANSPORT_SLOTS) {
        return GPUFL_BUSY;
    }
    slot->http = http;
    slot->request = *request;
    slot->sent = slot->reply_len = slot->reply_seen = 0;
    slot->headers_seen = (struct reply_headers){0};
    slot->error[0] = '\0';
    slot->busy = true;
    if ((!slot->easy && !(slot->easy = curl_easy_init())) || !prepare(http, slot) ||
        curl_multi_add_handle(http->multi, slot->easy) != CURLM_OK) {
        release(slot);
        return GPUFL_ERR_NOMEM;
    }
    return GPUFL_OK;
}

/* ---- replies -------------------------------------------------------------------------
 */

static void collect(struct http *http)
{
    int running;
    int left;
    uint64_t before;
    unsigned calls = 0;
    /* Each call takes one buffer of a body; who asks goes to compress the next frame
     * meanwhile, so it takes all that the sockets do. A large window goes in parts. */
    do {
        before = http->sent_bytes;
        curl_multi_perform(http->multi, &running);
    } while (http->sent_bytes != before && ++calls < CALLS_AT_ONCE);
    for (CURLMsg *m; (m = curl_multi_info_read(http->multi, &left));) {
        struct slot *slot;
        CURLcode result = m->data.result;
        if (m->msg != CURLMSG_DONE ||
            curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &slot) != CURLE_OK) {
            continue;
        }
        curl_multi_remove_handle(http->multi, slot->easy);
        slot->result = result;
        slot->finished = true;
    }
}

/* Without a connection, or before libcurl had the whole body, nothing can be stored. */
static bool may_have_arrived(const struct slot *slot)
{
    return slot->request.kind != TRANSPORT_PROBE &&
           slot->sent >= slot->request.body_len &&
           slot->result != CURLE_COULDNT_CONNECT &&
           slot->result != CURLE_COULDNT_RESOLVE_HOST;
}

static void fill_reply(struct slot *slot, struct transport_reply *out)
{
    long status = 0;
    curl_off_t retry_s = 0;
    curl_off_t took_us = 0;
    memset(out, 0, sizeof *out);
    out->tag = slot->request.tag;
    curl_easy_getinfo(slot->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(slot->easy, CURLINFO_RETRY_AFTER, &retry_s);
    curl_easy_getinfo(slot->easy, CURLINFO_TOTAL_TIME_T, &took_us);
    out->took_ms = (uint64_t)took_us / 1000;
    /* A refusal may come before the whole body went out (413, say): it counts. A success
     * counts only when it arrived whole. */
    bool answered =
        status >= 200 && (slot->result == CURLE_OK ||
                          (status >= 300 && slot->result != CURLE_OPERATION_TIMEDOUT));
    if (answered) {
        out->status = (int)status;
        out->retry_after_ms = retry_s > 0 ? (uint64_t)retry_s * 1000 : 0;
    } else {
        out->maybe_received = may_have_arrived(slot);
        out->timed_out = slot->result == CURLE_OPERATION_TIMEDOUT;
        snprintf(out->error, sizeof out->error, "%s",
                 slot->error[0] ? slot->error : curl_easy_strerror(slot->result));
    }
    out->web_page = slot->headers_seen.web_page;
    out->accept_encoding = slot->headers_seen.accept_encoding;
    out->accepts_zstd = slot->headers_seen.accepts_zstd;
    out->body = slot->reply;
    out->body_len = slot->reply_len;
}

static bool http_next(void *self, struct transport_reply *reply)
{
    struct http *http = self;
    collect(http);
    for (size_t i = 0; i < TRANSPORT_SLOTS; i++) {
        struct slot *slot = &http->slot[i];
        if (slot->busy && slot->finished) {
            fill_reply(slot, reply);
            release(slot); /* the reply's buffer stays with the slot until its next use */
            return true;
        }
    }
    return false;
}

static void http_poll(void *self, uint64_t timeout_ms, int extra_fd)
{
    struct http *http = self;
    struct curl_waitfd extra = {.fd = extra_fd, .events = CURL_WAIT_POLLIN};
    int ms = timeout_ms > INT_MAX ? INT_MAX : (int)timeout_ms;
    int ready;
    curl_multi_poll(http->multi, &extra, extra_fd >= 0 ? 1 : 0, ms, &ready);
}

static void http_wakeup(void *self)
{
    curl_multi_wakeup(((struct http *)self)->multi);
}

/* ---- life ----------------------------------------------------------------------------
 */

static void free_http(struct http *http)
{
    for (size_t i = 0; i < TRANSPORT_SLOTS; i++) {
        struct slot *slot = &http->slot[i];
        if (slot->easy) {
            curl_multi_remove_handle(http->multi, slot->easy);
            curl_easy_cleanup(slot->easy);
        }
        curl_slist_free_all(slot->headers);
        free(slot->reply);
    }
    curl_multi_cleanup(http->multi);
    caller_fini(&http->caller);
    free(http);
}

gpufl_status transport_http_open(const struct transport_http_config *config,
                                 struct transport *out, char why[256])
{
    memset(out, 0, sizeof *out);
    /* Never cleaned up: other code in this process may use libcurl too. */
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        snprintf(why, 256, "libcurl cannot start");
        return GPUFL_ERR_NOMEM;
    }
    struct http *http = calloc(1, sizeof *http);
    if (!http) {
        snprintf(why, 256, "out of memory");
        return GPUFL_ERR_NOMEM;
    }
    http->config = *config;
    http->multi = curl_multi_init();
    gpufl_status status = caller_init(&http->caller, config, why);
    if (status == GPUFL_OK && !http->multi) {
        snprintf(why, 256, "out of memory");
        status = GPUFL_ERR_NOMEM;
    }
    if (status != GPUFL_OK) {
        free_http(http);
        return status;
    }
    curl_multi_setopt(http->multi, CURLMOPT_MAXCONNECTS, (long)TRANSPORT_SLOTS);
    *out = (struct transport){.submit = http_submit,
                              .next = http_next,
                              .poll = http_poll,
                              .wakeup = http_wakeup,
                              .self = http};
    return GPUFL_OK;
}

void transport_http_set_token(struct transport *transport, const char *token)
{
    caller_set_token(&((struct http *)transport->self)->caller, token);
}

void transport_http_close(struct transport *transport)
{
    if (transport->self) {
        free_http(transport->self);
    }
    memset(transport, 0, sizeof *transport);
}
