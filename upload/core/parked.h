/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions that need no attention, in a few bytes each: complete ones, ended ones that
 * wait for their turn, and held ones of which nothing was sent. One that is complete or
 * waits, and whose directory is not there, is kept for days, so that a mount that comes
 * back is not sent again. */
#ifndef GPUFL_UPLOAD_CORE_PARKED_H
#define GPUFL_UPLOAD_CORE_PARKED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/shares.h"
#include "upload/core/absence.h"
#include "upload/core/path_table.h"
#include "upload/journal/journal_records.h"
#include "upload/journal/record_directory.h"
#include "upload/journal/stream_pack.h"
#include "upload/owners/waiting.h"
#include "upload/source/scan.h"

struct parked_session {
    struct path_node node;
    union {
        struct waiting_node waits; /**< of one that is not complete */
        struct {                   /* of one that is */
            uint32_t unsent;       /**< stands for the bytes that were not sent when its
                                      files were last looked at; 0 = not yet */
            uint32_t stamp;        /**< of its files, all of which is settled, see
                                      scan_stamp(); 0 = not known, or not needed */
            uint64_t changed_ns;   /**< times of change of its files by then, added up */
        };
    };
    uint32_t listed; /**< number of the listing of the root that named it last */
    uint32_t owner;  /**< whose share it takes room of */
    struct absence absence;
    uint8_t streams;
    uint8_t rewritten; /**< channels whose newest sealed file differs from what was sent
                          of it, one bit each; said */
    /* Many are kept at once: flags are single bits. */
    bool complete : 1;
    bool held : 1;    /**< struct parked_held is in the place of `packed` */
    bool watched : 1; /**< as in struct session, of one that waits */
    bool away : 1;    /**< the last whole listing did not name it */
    bool wanted : 1;
    bool no_manifest : 1; /**< a person gave up its manifest */
    bool in_cursor : 1;
    bool replaced : 1;   /**< a directory of another user has its place; said */
    bool conceded : 1;   /**< … which is left at that */
    uint8_t outcome : 2; /**< enum session_outcome */
    bool hides_end : 1;  /**< positions do not tell where it ends */
    bool this_boot : 1;  /**< see parked_directory(), as for those that follow */
    bool above_own : 1;
    uint32_t above;
    uint32_t user;
    uint64_t mark;
    uint64_t names_ns;        /**< when its directory had changed by the last look at
                                 the names in it, 0 = none in this run */
    uint64_t unread_given_up; /**< a person gave up the files with this mark, see struct
                                 session */
    /** Its streams, see parked_streams(); the path's text follows. */
    _Alignas(uint64_t) unsigned char packed[];
};

/** A session of which nothing was sent, with what was found when it was looked at last.
 * Anybody can make very many of these. */
struct parked_held {
    struct path_node by_id;
    uint64_t changed;     /**< when its directory changed, 0 = look at it again */
    uint64_t unread_mark; /**< as in struct session, like all that follows */
    unsigned unread;
    uint8_t hold_reason;
    uint16_t unread_said;
    uint8_t pending; /**< channels with something to send */
    bool other_said : 1;
    bool live : 1;
    bool over : 1; /**< its writer is gone */
    /* The path's text follows. */
};

/** The parked sessions of a root; all zero when there are none. */
struct parked {
    struct shares *shares; /**< of the engine; NULL = nothing is counted */
    bool shown; /**< a file that names complete sessions is kept in memory, see run_dir.h
                 */
    struct path_table table;
    struct waiting waiting; /**< those that do */
    unsigned away;          /**< sessions that would wait, if their directory was there */
    unsigned complete;      /**< of those that are wanted */
    unsigned complete_streams; /**< of these */
    unsigned marked;           /**< of these, only marked by another program */
    unsigned lacking;          /**< of these, the backend knows that lines are missing */
    unsigned replaced;         /**< complete ones with a directory of another user that is
                                  not conceded */
    bool changed;              /**< a complete session was added or removed */
    struct path_table held_ids;
    unsigned held;         /**< those that are held for a reason … */
    unsigned held_live;    /**< … whose writer is not known to be gone */
    unsigned held_pending; /**< their channels with something to send */
};

/** \return the session whose first member is \p node; NULL for NULL. */
struct parked_session *parked_of(struct path_node *node);

/** \return the parked session at \p path, or NULL. */
struct parked_session *parked_find(const struct parked *parked, const char *path);

/** Adds a session of \p owner that has ended and waits for its turn; \p listed is the
 * listing that named it. \return false without memory. */
bool parked_wait(struct parked *parked, const char *path, uint32_t owner,
                 uint32_t listed);

/** Adds a session with \p count streams, not counted yet: fill it in, then call
 * parked_add_complete. \return NULL without memory. */
struct parked_session *parked_new(struct parked *parked, const char *path, uint32_t owner,
                                  const struct packed_stream *stream, unsigned count);

/** Copies the streams of a session to \p out, `streams` of them. */
void parked_streams(const struct parked_session *session,
                    struct packed_stream out[SCAN_CHANNELS_MAX]);

/** \return the directory of a session. What that of another boot was is of no use. */
struct directory_id parked_directory(const struct parked_session *session);
void parked_set_directory(struct parked_session *session, const struct directory_id *id);

/** Marks a session from parked_new as complete and counts it. */
void parked_add_complete(struct parked *parked, struct parked_session *session);

/** Notes whether a directory of another user has the place of a complete session, and
 * whether that is \p conceded: then it is not counted. */
void parked_set_replaced(struct parked *parked, struct parked_session *session,
                         bool replaced, bool conceded);

/** \return what is kept of a session that is held. */
struct parked_held *parked_held_of(struct parked_session *session);

/** \return the session of which that is kept. */
struct parked_session *parked_held_session(struct parked_held *held);

/** \return true if it is held for a reason: one that is not only waits until its root was
 * listed once. */
bool parked_held_counts(const struct parked_held *held);

/** Adds a held session of \p owner, with what \p what says of it; \p listed is the
 * listing that named it. \return false without memory. */
bool parked_hold(struct parked *parked, const char *path, uint32_t owner, uint32_t listed,
                 const struct parked_held *what);

/** \return a held session with that id, or NULL. */
struct parked_held *parked_held_find(const struct parked *parked, const char *id);

/** \return another one with the id of \p held, or NULL. */
struct parked_held *parked_held_next(const struct parked_held *held);

/** Visits the held sessions, in no particular order. */
void parked_each_held(struct parked *parked,
                      void (*visit)(void *arg, struct parked_held *held), void *arg);

/** Ends the turn of an owner. \return the first session of that owner that waits, which
 * stays in its place; NULL if none does. */
struct parked_session *parked_turn(struct parked *parked);

/** Takes a session that is away out of the order of turns… */
void parked_stop_waiting(struct parked *parked, struct parked_session *session);

/** …and puts it behind those of its owner when it is back. \return false without memory.
 */
bool parked_wait_again(struct parked *parked, struct parked_session *session);

/** Removes and frees a parked session. */
void parked_drop(struct parked *parked, struct parked_session *session);

/** Visits the complete sessions, in no particular order. */
void parked_each_complete(struct parked *parked,
                          void (*visit)(void *arg, struct parked_session *session),
                          void *arg);

void parked_close(struct parked *parked);

#endif
