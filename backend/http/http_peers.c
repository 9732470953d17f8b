/* SPDX-License-Identifier: Apache-2.0 */
/* Shuts slow connections down; the server then finds them at their end and closes them.
 */
#include "backend/http/http_peers.h"

#include <netinet/in.h>
#include <string.h>

#define GRACE_MS 1000u /* a new connection has as long to prove that it has the key */

void peers_init(struct peers *peers)
{
    pthread_mutex_init(&peers->lock, NULL);
    peers->count = 0;
    for (unsigned i = 0; i < PEERS_MAX; i++) {
        peers->peer[i] = (struct peer){.peers = peers, .fd = -1};
    }
}

void peers_fini(struct peers *peers)
{
    pthread_mutex_destroy(&peers->lock);
}

/* Who has one IPv6 address has 2^64. */
static uint64_t network_of(const struct sockaddr *address)
{
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    uint64_t network = 0;
    if (address->sa_family == AF_INET) {
        memcpy(&in, address, sizeof in);
        network = in.sin_addr.s_addr;
    } else if (address->sa_family == AF_INET6) {
        memcpy(&in6, address, sizeof in6);
        memcpy(&network, &in6.sin6_addr, sizeof network);
    }
    return network;
}

static void shut_down(struct peer *peer)
{
    peer->closing = true;
    shutdown(peer->fd, SHUT_RDWR);
}

/* What a connection is worth in a crowd; the lowest goes. An idle one loses nothing, as
 * its client connects again. Without the key, no phase prolongs the grace time: requests
 * that are refused cost their sender nothing. */
static unsigned worth_of(const struct peer *peer, uint64_t now_ms)
{
    if (!peer->trusted) {
        return now_ms - peer->entered_ms > GRACE_MS ? 0 : 2;
    }
    return peer->phase == PEER_WAITING ? 1 : peer->phase == PEER_ANSWERING ? 4 : 3;
}

/* Of equal worth, one of the network that has most goes, and of these the oldest. */
static bool goes_before(const struct peer *a, const struct peer *b, uint64_t now_ms)
{
    unsigned worth_a = worth_of(a, now_ms);
    unsigned worth_b = worth_of(b, now_ms);
    if (worth_a != worth_b) {
        return worth_a < worth_b;
    }
    return a->share != b->share ? a->share > b->share : a->since_ms < b->since_ms;
}

static void end_one(struct peers *peers, const struct peer *newcomer, uint64_t now_ms)
{
    struct peer *goes = NULL;
    for (unsigned i = 0; i < PEERS_MAX; i++) {
        struct peer *peer = &peers->peer[i];
        if (peer->fd >= 0 && !peer->closing && peer != newcomer &&
            peer->phase != PEER_LISTENING && (!goes || goes_before(peer, goes, now_ms))) {
            goes = peer;
        }
    }
    if (goes) {
        shut_down(goes);
    }
}

/* Adds \p change to the share of each connection of the network. \return the new one. */
static unsigned add_share(struct peers *peers, uint64_t network, int change)
{
    unsigned share = 0;
    for (unsigned i = 0; i < PEERS_MAX; i++) {
        struct peer *peer = &peers->peer[i];
        if (peer->fd >= 0 && peer->network == network) {
            peer->share = (unsigned)((int)peer->share + change);
            share = peer->share;
        }
    }
    return share;
}

struct peer *peers_enter(struct peers *peers, int fd, const struct sockaddr *address,
                         uint64_t now_ms)
{
    struct peer *peer = NULL;
    pthread_mutex_lock(&peers->lock);
    for (unsigned i = 0; i < PEERS_MAX && !peer; i++) {
        peer = peers->peer[i].fd < 0 ? &peers->peer[i] : NULL;
    }
    if (peer) {
        uint64_t network = network_of(address);
        unsigned others = add_share(peers, network, 1);
        *peer = (struct peer){.peers = peers,
                              .fd = fd,
                              .network = network,
                              .entered_ms = now_ms,
                              .since_ms = now_ms,
                              .share = others ? others : 1};
        if (++peers->count > PEERS_CROWD) {
            end_one(peers, peer, now_ms);
        }
    }
    pthread_mutex_unlock(&peers->lock);
    return peer;
}

void peers_leave(struct peer *peer)
{
    struct peers *peers = peer->peers;
    pthread_mutex_lock(&peers->lock);
    add_share(peers, peer->network, -1);
    *peer = (struct peer){.peers = peers, .fd = -1};
    peers->count--;
    pthread_mutex_unlock(&peers->lock);
}

void peers_begin(struct peer *peer, bool trusted, uint64_t now_ms)
{
    peers_enter_phase(peer, PEER_RECEIVING, now_ms);
    pthread_mutex_lock(&peer->peers->lock);
    peer->trusted = trusted;
    peer->received = 0;
    pthread_mutex_unlock(&peer->peers->lock);
}

void peers_received(struct peer *peer, size_t bytes)
{
    pthread_mutex_lock(&peer->peers->lock);
    peer->received += bytes;
    pthread_mutex_unlock(&peer->peers->lock);
}

void peers_enter_phase(struct peer *peer, enum peer_phase phase, uint64_t now_ms)
{
    pthread_mutex_lock(&peer->peers->lock);
    peer->answered = peer->answered || phase == PEER_WAITING;
    peer->phase = phase;
    peer->since_ms = now_ms;
    pthread_mutex_unlock(&peer->peers->lock);
}

static bool is_over(const struct peer *peer, uint64_t now_ms)
{
    uint64_t spent_ms = now_ms - peer->since_ms;
    switch (peer->phase) {
    case PEER_WAITING:
        return spent_ms > (peer->answered ? PEERS_NEXT_MS : PEERS_FIRST_MS);
    case PEER_RECEIVING:
        return spent_ms > PEERS_BODY_MS + peer->received * 1000 / PEERS_BYTES_PER_SEC;
    case PEER_ANSWERING:
        return !peer->trusted && spent_ms > PEERS_REFUSAL_MS;
    case PEER_LISTENING:
        break;
    }
    return false;
}

void peers_sweep(struct peers *peers, uint64_t now_ms)
{
    pthread_mutex_lock(&peers->lock);
    for (unsigned i = 0; i < PEERS_MAX; i++) {
        struct peer *peer = &peers->peer[i];
        if (peer->fd >= 0 && !peer->closing && is_over(peer, now_ms)) {
            shut_down(peer);
        }
    }
    pthread_mutex_unlock(&peers->lock);
}
