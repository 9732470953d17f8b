/* SPDX-License-Identifier: Apache-2.0 */
/* Reads bodies on a thread of its own, beside the one that serves and stores: a
 * connection whose body is read is suspended, and goes on when that is done. */
#ifndef GPUFL_BACKEND_HTTP_READ_AHEAD_H
#define GPUFL_BACKEND_HTTP_READ_AHEAD_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "backend/http/ingest_read.h"

/** Reading a smaller body takes less time than it is worth. */
#define READ_AHEAD_FROM_BYTES 16384u
/** Reading takes twice the time of storing. */
#define READ_AHEAD_THREADS 2u

enum read_ahead_state { AHEAD_NOT, AHEAD_WAITS, AHEAD_READ };

/** One body. Zero-initialise. */
struct read_ahead_body {
    struct ingest_request request; /**< its texts belong to the connection */
    void (*take)(const struct ingest_request *request, struct ingest_read *out);
    struct MHD_Connection *connection;
    struct ingest_read read;     /**< once it is AHEAD_READ */
    enum read_ahead_state state; /**< while the connection is suspended, a thread's */
    struct read_ahead *ahead;
    struct read_ahead_body *next;
};

/** Zero-initialise, then read_ahead_start. */
struct read_ahead {
    pthread_mutex_t lock;
    pthread_cond_t turn; /**< there may be something to do for a thread */
    pthread_t thread[READ_AHEAD_THREADS];
    unsigned threads;
    struct read_ahead_body *first, *last; /**< those that wait */
    unsigned held;                        /**< read, or being read, and not ended */
    size_t held_bytes;                    /**< of memory for those that were read */
    bool running;
};

/** Without any thread, nothing is read ahead. */
void read_ahead_start(struct read_ahead *ahead);

/** Suspends the connection of \p body and has it read by its `take`; then the connection
 * goes on. \return false where nothing is read ahead: then its answer must not wait. */
bool read_ahead_begin(struct read_ahead *ahead, struct read_ahead_body *body);

/** Releases what was read, so that others may be. */
void read_ahead_end(struct read_ahead_body *body);

/** Ends the threads and lets all connections go on: before the daemon stops, which
 * permits none to be suspended. */
void read_ahead_stop(struct read_ahead *ahead);

#endif
