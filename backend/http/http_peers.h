/* SPDX-License-Identifier: Apache-2.0 */
/* The open connections: which are too slow, and which go when there are many. */
#ifndef GPUFL_BACKEND_HTTP_HTTP_PEERS_H
#define GPUFL_BACKEND_HTTP_HTTP_PEERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define PEERS_MAX   512u
#define PEERS_CROWD 448u /* from here on, one goes for each that comes */

#define PEERS_FIRST_MS      15000u /* from the connection to the end of the first headers */
#define PEERS_NEXT_MS       75000u /* from an answer to the end of the next headers */
#define PEERS_BODY_MS       30000u /* for a body, and more for what has arrived of it: */
#define PEERS_BYTES_PER_SEC 4096u
#define PEERS_REFUSAL_MS    15000u /* to read an answer, for who has not shown the key */

enum peer_phase {
    PEER_WAITING,   /**< for headers */
    PEER_RECEIVING, /**< a body */
    PEER_ANSWERING,
    PEER_LISTENING /**< to changes, without end */
};

/** One connection. */
struct peer {
    struct peers *peers;
    int fd; /**< -1 = not in use */
    uint64_t network;
    enum peer_phase phase;
    uint64_t entered_ms;
    uint64_t since_ms; /**< of the phase */
    uint64_t received; /**< bytes of the body */
    unsigned share;    /**< connections of its network */
    bool answered;     /**< a request before */
    bool trusted;      /**< its last request had our key */
    bool closing;
};

struct peers {
    pthread_mutex_t lock;
    unsigned count;
    struct peer peer[PEERS_MAX];
};

void peers_init(struct peers *peers);
void peers_fini(struct peers *peers);

/** A connection has been accepted. In a crowd, another one is shut down for it. \return
 * NULL when there are PEERS_MAX. */
struct peer *peers_enter(struct peers *peers, int fd, const struct sockaddr *address,
                         uint64_t now_ms);

/** Before its socket is closed. */
void peers_leave(struct peer *peer);

/** Headers have arrived; \p trusted: with the key. */
void peers_begin(struct peer *peer, bool trusted, uint64_t now_ms);

/** \p bytes of the body have arrived. */
void peers_received(struct peer *peer, size_t bytes);

/** It enters \p phase. */
void peers_enter_phase(struct peer *peer, enum peer_phase phase, uint64_t now_ms);

/** Shuts down the connections whose time is over; from any thread. */
void peers_sweep(struct peers *peers, uint64_t now_ms);

#endif
