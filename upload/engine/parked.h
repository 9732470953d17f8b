/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions that nobody needs to look at, in a few bytes each: those that are complete,
 * and those that have ended and wait for their turn. A complete one whose directory went
 * leaves the journal, and is known for a day of listings more: a mount that comes back is
 * not sent again. */
#ifndef GPUFL_UPLOAD_ENGINE_PARKED_H
#define GPUFL_UPLOAD_ENGINE_PARKED_H

#include <stdbool.h>
#include <stdint.h>

#include "upload/engine/path_table.h"

struct engine;
struct root;
struct session;

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

struct parked_session *parked_find(const struct root *root, const char *path);

/** The session at \p path has ended and waits for its turn. \return false without memory.
 */
bool parked_wait(struct root *root, const char *path);

/** Puts a complete session, to which nothing refers any more, in its place and frees it.
 * Without memory it stays as it is. */
void parked_complete(struct session *session);

/** Makes a session of it again, an open one. \return NULL without memory; it stays. */
struct session *parked_open(struct root *root, struct parked_session *parked_session);

/** Opens and marks some of those that wait, if the backend could take more. \return true
 * when there were any. */
bool parked_open_some(struct engine *engine);

/** True when one waits that could be opened now. */
bool parked_waits(const struct root *root);

/** Forgets it. */
void parked_drop(struct root *root, struct parked_session *parked_session);

/** What lies at or below \p path cannot be seen, which says nothing. */
void parked_keep(struct root *root, const char *path);

/** The listing under way names it. */
void parked_seen(struct root *root, struct parked_session *parked_session);

/** Forgets those that the listing that is over did not name. */
void parked_forget_absent(struct root *root);

/** Opens the complete ones that are wanted: all is sent again. */
void parked_open_complete(struct root *root);

/** Visits the complete ones that are there, in no order. */
void parked_each_complete(struct root *root,
                          void (*visit)(void *arg, struct parked_session *parked_session),
                          void *arg);

/** Appends the complete ones to the journal. */
void parked_write_state(struct root *root);

void parked_close(struct root *root);

#endif
