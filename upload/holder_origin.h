/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the uploader that serves a directory sends to the backend of this call: its
 * progress says nothing of any other one. */
#ifndef GPUFL_UPLOAD_HOLDER_ORIGIN_H
#define GPUFL_UPLOAD_HOLDER_ORIGIN_H

#include "upload/journal/journal_read.h"
#include "upload/upload_open.h"

/** What is known of it; all zero at first. */
struct holder_origin {
    bool same;              /**< the backend takes the key, and nothing tells it apart */
    bool over;              /**< it never will: u->result says why … */
    gpufl_status status;    /**< … and this is what the call returns */
    uint64_t database;      /**< stands for the backend's, 0 = not said */
    uint64_t epoch;         /**< likewise; 0 also where it goes by no positions */
    bool again;             /**< it is asked for that again, though it is the same */
    uint64_t ask_ms;        /**< not before this */
    bool untold;            /**< neither the holder nor its journal says it … */
    uint64_t told_until_ms; /**< … and this long, one that lives is waited for */
    unsigned failures;      /**< in a row */
    int http_status;        /**< of the last one, 0 = there was no answer */
    char error[320];        /**< likewise */
};

/** Compares what the holder published and what its journal says, if that can be read,
 * with the options, and asks the backend whether it takes the key, until that is known.
 * \p why says who the holder is. */
void holder_origin_ask(struct upload *u, struct holder_origin *origin, const char *why);

/** \return true if it has sent to another database behind the same URL: it asks that once
 * a minute, and then sends everything again. */
bool holder_origin_is_elsewhere(const struct holder_origin *origin);

/** Reads the journal that the holder keeps, if this user can: to be closed with
 * journal_read_fini() then. */
bool holder_journal_open(const struct upload *u, struct journal_read *out);

/** Says in u->result what is in the way of knowing that, once there is no more time.
 * \return true with *status, which the call returns; false if it is known. */
bool holder_origin_unknown(struct upload *u, const struct holder_origin *origin,
                           const char *why, gpufl_status *status);

#endif
