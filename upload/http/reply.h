/* SPDX-License-Identifier: Apache-2.0 */
/* Reads replies of the backend: JSON bodies and headers, all optional and untrusted. */
#ifndef GPUFL_UPLOAD_HTTP_REPLY_H
#define GPUFL_UPLOAD_HTTP_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "upload/http/transport.h"

/** What a reply to a batch says. */
struct reply_batch {
    bool acknowledged; /**< "window_acknowledged":true */
    int64_t accepted;  /**< -1 = not said */
    int64_t rejected;  /**< 0 = not said */
    bool identity_conflict;
    bool sequence_conflict;
    char spool_id[64]; /**< "" = none */
};

/** What the origin declares at info/version. */
struct reply_version {
    bool readable;  /**< it is a declaration */
    bool supported; /**< names wire version 1, or says nothing of versions */
    bool zstd;
    bool live_windows;       /**< accepts window identity on batches */
    bool registry;           /**< keeps window ids: repeats are stored once */
    uint64_t alive_after_ms; /**< wants to be told of sessions that are silent for so long
                                but alive; 0 = not */
    bool positions;          /**< streams are continued at their ends */
    uint64_t epoch;          /**< stands for its epoch, 0 = not said */
    uint64_t database;       /**< likewise for the database that this names */
};

/** Never fails: what cannot be read stays at "not said". */
void reply_read_batch(const char *body, size_t len, struct reply_batch *out);
void reply_read_version(const char *body, size_t len, struct reply_version *out);

/** The first bytes of \p text, which a server sent, for a sentence or a log line: without
 * quotes and without anything that a terminal interprets. */
void reply_excerpt(const char *text, size_t len, char *out, size_t size);

/** What the body of a reply says to a person, as reply_excerpt: the text of its
 * "message", else its first bytes; "" if there is nothing. */
void reply_message(const char *body, size_t len, char *out, size_t size);

/** What a reply's headers tell. */
struct reply_headers {
    bool accept_encoding; /**< there was an Accept-Encoding (RFC 7694) … */
    bool accepts_zstd;    /**< … that names zstd */
    bool web_page;        /**< the content is text/html */
};

/** Reads one header line into \p out, which was zeroed before the first. */
void reply_read_header(const char *line, size_t len, struct reply_headers *out);

/** Room for the value of a Date header. */
#define REPLY_DATE_BYTES 64u

/** The value of a Date header line. \return false when it is another header. */
bool reply_read_date(const char *line, size_t len, char out[REPLY_DATE_BYTES]);

/** Why \p reply settles nothing, in one sentence: its status and what its body says, or
 * how the request failed. */
void reply_failure(const struct transport_reply *reply, char why[256]);

#endif
