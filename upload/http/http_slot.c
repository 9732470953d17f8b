/* SPDX-License-Identifier: Apache-2.0 */
/* Sets up requests for libcurl, feeds it their bodies and reads the replies. */
#include "upload/http/http_slot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "schema/protocol.h"
#include "upload/http/request_headers.h"

#define REPLY_CAP 65536u
/* How long certificates that were replaced on disk stay in use. */
#define CA_CACHE_S 60L
/* Half of libcurl's default, for ten handles: measured no slower. */
#define UPLOAD_BUFFER_BYTES 32768L
/* A longer reply is aborted: this is not our backend. */
#define REPLY_ABORT (1u << 20)

static size_t on_reply(char *data, size_t size, size_t count, void *arg)
{
    struct http_slot *slot = arg;
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
    struct http_slot *slot = arg;
    char date[REPLY_DATE_BYTES];
    reply_read_header(data, size * count, &slot->headers_seen);
    if (reply_read_date(data, size * count, date)) {
        time_t when = curl_getdate(date, NULL);
        slot->server_time_s = when > 0 ? when : 0;
    }
    return size * count;
}

static size_t on_read(char *buf, size_t size, size_t count, void *arg)
{
    struct http_slot *slot = arg;
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
        return CURL_READFUNC_ABORT; /* the file shrank: do not send a short body */
    }
    slot->sent += (size_t)n;
    *slot->sent_bytes += (uint64_t)n;
    return (size_t)n;
}

/* libcurl sends a request again by itself, and begins the body anew, when a kept
 * connection ends before the first byte of the answer. */
static int on_seek(void *arg, curl_off_t offset, int origin)
{
    struct http_slot *slot = arg;
    if (origin != SEEK_SET || offset < 0 || (size_t)offset > slot->request.body_len) {
        return CURL_SEEKFUNC_CANTSEEK;
    }
    slot->repeated = slot->repeated || slot->sent >= slot->request.body_len;
    slot->sent = (size_t)offset;
    return CURL_SEEKFUNC_OK;
}

static bool set_headers(const struct credentials *credentials, struct http_slot *slot)
{
    struct request_headers lines;
    if (!request_headers_make(&slot->request, credentials->token, credentials->hostname,
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

static bool has_no_body(const struct transport_request *r)
{
    return r->kind == TRANSPORT_PROBE || r->kind == TRANSPORT_KEY ||
           r->kind == TRANSPORT_ENDS || r->kind == TRANSPORT_PLACE;
}

static void set_body(struct http_slot *slot)
{
    const struct transport_request *r = &slot->request;
    if (has_no_body(r)) {
        curl_easy_setopt(slot->easy, CURLOPT_HTTPGET, 1L);
        return;
    }
    curl_easy_setopt(slot->easy, CURLOPT_POST, 1L);
    curl_easy_setopt(slot->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body_len);
    /* By callbacks, not as POSTFIELDS: on_seek notes that the body may have arrived
     * before it is sent again. */
    curl_easy_setopt(slot->easy, CURLOPT_POSTFIELDS, NULL);
    curl_easy_setopt(slot->easy, CURLOPT_SEEKFUNCTION, on_seek);
    curl_easy_setopt(slot->easy, CURLOPT_SEEKDATA, slot);
    curl_easy_setopt(slot->easy, CURLOPT_READFUNCTION, on_read);
    curl_easy_setopt(slot->easy, CURLOPT_READDATA, slot);
}

static void set_trust(const struct credentials *credentials, const struct http_slot *slot)
{
    CURL *easy = slot->easy;
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt(easy, CURLOPT_CA_CACHE_TIMEOUT, CA_CACHE_S);
    if (credentials->ca_file) {
        curl_easy_setopt(easy, CURLOPT_CAINFO, credentials->ca_file);
        /* Debian's libcurl would trust the system's, too, and keep nothing of either. */
        curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    } else if (slot->by_name) {
        curl_easy_setopt(easy, CURLOPT_CAINFO, NULL); /* its directory is enough */
    }
    if (credentials->client_cert) {
        curl_easy_setopt(easy, CURLOPT_SSLCERT, credentials->client_cert);
        curl_easy_setopt(easy, CURLOPT_SSLKEY,
                         credentials->client_key ? credentials->client_key
                                                 : credentials->client_cert);
    }
    if (credentials->proxy) {
        curl_easy_setopt(easy, CURLOPT_PROXY, credentials->proxy);
    }
    curl_easy_setopt(easy, CURLOPT_HTTPPROXYTUNNEL, 1L);
}

static void set_limits(const struct transport_http_config *limits, CURL *easy)
{
    long low_s = (long)(limits->read_timeout_ms + 999) / 1000;
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
    curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, UPLOAD_BUFFER_BYTES);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)limits->connect_timeout_ms);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, low_s > 0 ? low_s : 1L);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)limits->total_timeout_ms);
}

static void make_url(const struct http_slot *slot, const char *prefix, char url[768])
{
    static const char *const path[] = {
        [TRANSPORT_PROBE] = PROTOCOL_VERSION,
        [TRANSPORT_BATCH] = PROTOCOL_STREAM,
        [TRANSPORT_COMPLETE] = PROTOCOL_SESSION_COMPLETE,
        [TRANSPORT_KEY] = PROTOCOL_STREAM,
        [TRANSPORT_ALIVE] = PROTOCOL_ALIVE,
        [TRANSPORT_PARTS] = PROTOCOL_PARTS,
        [TRANSPORT_ENDS] = PROTOCOL_SESSIONS,
        [TRANSPORT_PLACE] = PROTOCOL_SESSIONS,
    };
    const struct transport_request *r = &slot->request;
    bool place = r->kind == TRANSPORT_PLACE;
    bool ends = r->kind == TRANSPORT_ENDS || place;
    int n = snprintf(url, 768, "%s%s%s%s", prefix, path[r->kind], ends ? r->session : "",
                     ends ? PROTOCOL_STREAMS : "");
    if (place && n > 0 && n < 768) { /* names of channels need no escapes */
        snprintf(url + n, (size_t)(768 - n), "?channel=%s&file=%u&offset=%llu",
                 r->channel, r->file, (unsigned long long)r->offset);
    }
}

bool http_slot_prepare(struct http_slot *slot, const struct transport_http_config *limits,
                       const struct credentials *credentials)
{
    char url[768];
    make_url(slot, credentials->prefix, url);
    if (!slot->reply) {
        slot->reply = malloc(REPLY_CAP);
    }
    if (!slot->reply || !set_headers(credentials, slot)) {
        return false;
    }
    curl_easy_reset(slot->easy);
    set_limits(limits, slot->easy);
    set_trust(credentials, slot);
    curl_easy_setopt(slot->easy, CURLOPT_URL, url);
    curl_easy_setopt(slot->easy, CURLOPT_USERAGENT, credentials->user_agent);
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

void http_slot_release(struct http_slot *slot)
{
    for (struct curl_slist *line = slot->headers; line; line = line->next) {
        explicit_bzero(line->data, strlen(line->data)); /* one holds the token */
    }
    curl_slist_free_all(slot->headers);
    slot->headers = NULL;
    slot->busy = slot->finished = false;
}

/* The server cannot have stored a body that libcurl never had to the end. */
static bool may_have_arrived(const struct http_slot *slot)
{
    return slot->request.kind != TRANSPORT_PROBE &&
           slot->request.kind != TRANSPORT_ENDS &&
           slot->request.kind != TRANSPORT_PLACE &&
           slot->sent >= slot->request.body_len &&
           slot->result != CURLE_COULDNT_CONNECT &&
           slot->result != CURLE_COULDNT_RESOLVE_HOST;
}

static enum transport_failure failure_of(CURLcode result)
{
    switch (result) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
        return TRANSPORT_NAME;
    case CURLE_COULDNT_CONNECT:
        return TRANSPORT_CONNECT;
    case CURLE_OPERATION_TIMEDOUT:
        return TRANSPORT_TIMEOUT;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
        return TRANSPORT_TLS;
    default:
        return TRANSPORT_BROKEN;
    }
}

/* What OpenSSL and GnuTLS say where the first bytes are not TLS, or the server hangs up.
 */
static bool looks_unencrypted(const struct http_slot *slot, const char *error)
{
    static const char *const signs[] = {"wrong version number", "packet length too long",
                                        "http request", "SSL_ERROR_SYSCALL",
                                        "unexpected TLS packet"};
    bool found = false;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        found = found || strstr(error, signs[i]);
    }
    return found && slot->result == CURLE_SSL_CONNECT_ERROR;
}

/* Names the certificate and what it was checked against: a person needs both. */
static void say_error(const struct http_slot *slot, const struct credentials *credentials,
                      struct transport_reply *out)
{
    const char *error = slot->error[0] ? slot->error : curl_easy_strerror(slot->result);
    const char *host = strstr(credentials->prefix, "://") + 3;
    char text[2 * CURL_ERROR_SIZE];
    int n = snprintf(text, sizeof text, "%s", error);
    int host_len = (int)strcspn(host, "/");
    if (out->failure == TRANSPORT_TLS && looks_unencrypted(slot, error)) {
        snprintf(text + n, sizeof text - (size_t)n,
                 " (%.*s may speak plain HTTP: then give http:// instead of https://)",
                 host_len, host);
    } else if (out->failure == TRANSPORT_TLS) {
        snprintf(text + n, sizeof text - (size_t)n,
                 " (certificate of %.*s, checked against %.100s)", host_len, host,
                 credentials->ca_file ? credentials->ca_file
                                      : "the system's certificates");
    }
    reply_excerpt(text, strlen(text), out->error, sizeof out->error);
}

void http_slot_reply(struct http_slot *slot, const struct credentials *credentials,
                     struct transport_reply *out)
{
    long status = 0;
    curl_off_t retry_s = 0;
    curl_off_t took_us = 0;
    memset(out, 0, sizeof *out);
    out->tag = slot->request.tag;
    out->kind = slot->request.kind;
    curl_easy_getinfo(slot->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(slot->easy, CURLINFO_RETRY_AFTER, &retry_s);
    curl_easy_getinfo(slot->easy, CURLINFO_TOTAL_TIME_T, &took_us);
    out->took_ms = (uint64_t)took_us / 1000;
    out->maybe_received = slot->repeated;
    /* A refusal may come before the whole body went out (413, say): it counts. A success
     * counts only when it arrived whole. */
    bool answered =
        status >= 200 && (slot->result == CURLE_OK ||
                          (status >= 300 && slot->result != CURLE_OPERATION_TIMEDOUT));
    if (answered) {
        out->status = (int)status;
        out->retry_after_ms = retry_s > 0 ? (uint64_t)retry_s * 1000 : 0;
    } else {
        out->maybe_received = slot->repeated || may_have_arrived(slot);
        out->failure = failure_of(slot->result);
        say_error(slot, credentials, out);
    }
    out->server_time_s = slot->server_time_s;
    out->web_page = slot->headers_seen.web_page;
    out->accept_encoding = slot->headers_seen.accept_encoding;
    out->accepts_zstd = slot->headers_seen.accepts_zstd;
    out->body = slot->reply;
    out->body_len = slot->reply_len;
}
