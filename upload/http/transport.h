/* SPDX-License-Identifier: Apache-2.0 */
/* The interface to the network: the engine submits requests and later takes replies, and
 * never touches a socket. */
#ifndef GPUFL_UPLOAD_HTTP_TRANSPORT_H
#define GPUFL_UPLOAD_HTTP_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpufl/status.h>

/** Requests for lines and ends of sessions that can be under way at once. */
#define TRANSPORT_SLOTS 10u
/** The same with a TRANSPORT_ALIVE, for which none of those waits. */
#define TRANSPORT_SLOTS_ALL (TRANSPORT_SLOTS + 1)

enum transport_kind {
    TRANSPORT_PROBE,    /**< GET info/version */
    TRANSPORT_BATCH,    /**< POST events/stream */
    TRANSPORT_COMPLETE, /**< POST events/session-complete */
    TRANSPORT_KEY,      /**< GET events/stream, which stores nothing: see key_check.h */
    TRANSPORT_ALIVE,    /**< POST events/alive */
    TRANSPORT_PARTS,    /**< POST events/parts */
    TRANSPORT_ENDS,     /**< GET sessions/{id}/streams */
    TRANSPORT_PLACE,    /**< GET sessions/{id}/streams?channel&file&offset */
};

/** A request. Everything it points to is borrowed until its reply has been taken. */
struct transport_request {
    enum transport_kind kind;
    const char *session;   /**< BATCH, COMPLETE, ENDS, PLACE */
    const char *encoding;  /**< Content-Encoding, NULL = none */
    const char *window_id; /**< Idempotency-Key; NULL = none */
    bool window_headers;   /**< send the X-GpuFlight-Window-* headers too */
    const char *channel;
    uint32_t file;   /**< PLACE */
    uint64_t offset; /**< PLACE */
    uint32_t sequence;
    uint32_t crc32;
    const void *body; /**< or NULL: then body_len bytes of fd from 0 */
    int fd;
    size_t body_len;
    void *tag; /**< comes back with the reply */
};

/** Why a request has to be repeated. */
enum transport_failure {
    TRANSPORT_BROKEN, /**< no whole answer: reset, closed, garbage */
    TRANSPORT_NAME,   /**< the host's or the proxy's name does not resolve */
    TRANSPORT_CONNECT,
    TRANSPORT_TLS,
    TRANSPORT_TIMEOUT,
    TRANSPORT_BUSY,   /**< an answer: 408, 425, 429 */
    TRANSPORT_SERVER, /**< an answer: 5xx */
    TRANSPORT_FAILURES,
};

struct transport_reply {
    void *tag;
    enum transport_kind kind; /**< of the request */
    int status;               /**< HTTP status, 0 = no answer */
    bool maybe_received; /**< the server may have got the whole body without answering; an
                            answer may then be that to a repeat */
    enum transport_failure failure; /**< for status 0: of what kind */
    int64_t server_time_s;          /**< its Date header; 0 = none */
    uint64_t retry_after_ms;        /**< 0 = not said */
    uint64_t took_ms;               /**< from its start to its end */
    bool accept_encoding; /**< the reply had an Accept-Encoding header (RFC 7694) … */
    bool accepts_zstd;    /**< … that names zstd */
    bool web_page;        /**< its content is text/html */
    const char *body;     /**< at most 64 KiB; borrowed until the next call of next() */
    size_t body_len;
    char error[256]; /**< for status 0: what happened, without any secret */
};

/** A transport; used by one thread, but for wakeup. */
struct transport {
    /** Starts a request. \return GPUFL_OK; GPUFL_BUSY when all slots are taken. */
    gpufl_status (*submit)(void *self, const struct transport_request *request);
    /** Takes the reply of a finished request. \return false when there is none. */
    bool (*next)(void *self, struct transport_reply *reply);
    /** Waits until a transfer makes progress, \p extra_fd (for signals; or -1) is
     * readable, or the time is over. */
    void (*poll)(void *self, uint64_t timeout_ms, int extra_fd);
    /** Ends a poll under way; from any thread. */
    void (*wakeup)(void *self);
    void *self;
};

#endif
