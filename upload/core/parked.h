/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions that nobody needs to look at, in a few bytes each: those that are complete,
 * and those that have ended and wait for their turn. A complete one whose directory went
 * leaves the journal, and is known for a day of listings more: a mount that comes back is
 * not sent again. */
#ifndef GPUFL_UPLOAD_CORE_PARKED_H
#define GPUFL_UPLOAD_CORE_PARKED_H

#include <stdbool.h>
#include <stdint.h>

#include "upload/core/path_table.h"

/** What outlives a complete session's channel: the journal, the progress file and
 * `force` need it. */
struct parked_stream {
    uint64_t offset;
    uint64_t head;
    uint64_t lines;
    uint32_t file;
    uint32_t sequence;
    uint32_t id;
    uint8_t channel;
    uint8_t kind;
    bool keep;
};

struct parked_session {
    struct path_node node;
    struct parked_session *next_waiting; /**< while it is not complete */
    uint32_t listed; /**< number of the listing of the root that named it last */
    bool complete;
    bool gone; /**< its directory is, and the journal knows */
    bool wanted;
    bool in_cursor;
    uint8_t streams;
    struct parked_stream stream[]; /**< the path's text follows */
};

/** A root's. All zero is an empty one. */
struct parked {
    struct path_table table;
    struct parked_session *waiting; /**< in the order in which their turn comes */
    struct parked_session **waiting_last;
    unsigned waiting_count;
    unsigned complete;         /**< of those that are wanted */
    unsigned complete_streams; /**< of these */
    bool changed;              /**< a complete one came or went */
};

/** The one that holds \p node, its first member; NULL for NULL. */
struct parked_session *parked_of(struct path_node *node);

/** \return the one at \p path, or NULL. */
struct parked_session *parked_find(const struct parked *parked, const char *path);

/** Adds one that has ended and waits for its turn; listing number \p listed named it.
 * \return false without memory. */
bool parked_wait(struct parked *parked, const char *path, uint32_t listed);

/** Adds one with \p streams streams that is in no count yet: fill it in, then call
 * parked_add_complete. \return NULL without memory. */
struct parked_session *parked_new(struct parked *parked, const char *path,
                                  uint8_t streams);

/** It is filled in, and complete. */
void parked_add_complete(struct parked *parked, struct parked_session *session);

/** Forgets it. */
void parked_drop(struct parked *parked, struct parked_session *session);

/** What lies at or below \p path cannot be seen, which says nothing: listing number
 * \p listed counts as having named it. */
void parked_keep(struct parked *parked, const char *path, uint32_t listed);

/** Visits the complete ones that are there, in no order. */
void parked_each_complete(struct parked *parked,
                          void (*visit)(void *arg, struct parked_session *session),
                          void *arg);

void parked_close(struct parked *parked);

#endif
