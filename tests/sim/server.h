/* SPDX-License-Identifier: Apache-2.0 */
/* The origin of a world: the backend's own ingest and store, on a database in memory.
 * It can go back to a copy, and forget what it is capable of. */
#ifndef GPUFL_TESTS_SIM_SERVER_H
#define GPUFL_TESTS_SIM_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "upload/http/transport.h"

struct store;

enum server_kind {
    SERVER_POSITIONS,
    SERVER_WINDOWS, /**< identities of windows and batches */
    SERVER_NOTHING, /**< it stores what comes */
    SERVER_KINDS,
};

struct server {
    enum server_kind kind;
    struct store *store;
    void *copy;              /**< a database; NULL = none */
    char copy_expiring[129]; /**< the session that retention was deleting in it */
    bool hides;              /**< it is a version that does not know what its kind does */
    bool hid;                /**< it was */
    bool went_back;
    char expiring[129]; /**< the session that retention is deleting, a step a request */
    unsigned expiring_bodies; /**< of a step */
    unsigned moody_percent;   /**< of answers that are not those of the database */
    int gateway;  /**< that of what is in front of it, which has one status; 0 = any */
    bool doubted; /**< a sender had reason to think that it declares nothing */
    bool refused; /**< lines were, by something in front of it */
    struct text refused_ids; /**< of batches whose sender has heard that */
    struct text again; /**< what was stored of such, before it heard that or later */
    bool closed; /**< a batch was answered with 409, as by one that had closed its session
                  */
    unsigned lossy_percent; /**< of requests and answers that get lost */
    uint64_t slow_ms;
    int refuses; /**< the status that requests of a kind get; 0 = the origin's */
    enum transport_kind refuses_kind;
    bool down;   /**< requests do not leave the host of their sender */
    bool unsure; /**< a batch was perhaps received, for all that its sender knows */
};

/** A request as it goes over the network. */
struct server_request {
    enum transport_kind kind;
    char session[129];
    char channel[33];
    char window_id[37];
    char encoding[8];
    bool window_headers, has_id;
    uint32_t sequence, crc32;
    uint32_t file;
    uint64_t offset;
    char *body;
    size_t len;
};

void server_begin(struct server *server, enum server_kind kind);
void server_end(struct server *server);

/** Ends and starts again: on the same database, or, with \p back, on the copy. */
void server_restart(struct server *server, bool back);
void server_copy(struct server *server);

/** Names the session that retention deletes next. \return false if there is none. */
bool server_oldest(struct server *server, char session[129]);
/** Begins to delete it, \p bodies at a time. */
void server_expire(struct server *server, unsigned bodies);
/** Deletes what is left of it. */
void server_finish_expiring(struct server *server);

/** Handles a request. \return the status. */
int server_answer(struct server *server, const struct server_request *request,
                  struct text *answer);

/** A sender has heard that what is in front of the origin refuses \p r: notes the lines
 * that may come twice, as the origin has them, stored before without an answer. */
void server_note_refused(struct server *server, const struct server_request *r);

/** All stored lines of a channel, the caller's. */
char *server_stored(struct server *server, const char *session, const char *channel);

/** Grows with each row that is stored, changed or deleted. */
int server_changes(struct server *server);

/** 0 = open, 1 = complete, 2 = verified, 3 = ended. */
int server_state(struct server *server, const char *session);

/** Losses and skips that are noted for a stream. */
uint64_t server_lacks(struct server *server, const char *session, const char *channel);

#endif
