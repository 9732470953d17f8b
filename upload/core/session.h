/* SPDX-License-Identifier: Apache-2.0 */
/* One session: what is known of it, and when it is to be looked at. */
#ifndef GPUFL_UPLOAD_CORE_SESSION_H
#define GPUFL_UPLOAD_CORE_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "upload/core/path_table.h"
#include "upload/core/registry.h"
#include "upload/source/scan.h"

/** Without growth for so long, a session that nobody can probe has probably ended. */
#define SESSION_SILENCE_MS 30000u

struct stream;

enum session_state {
    SESSION_OPEN,
    SESSION_COMPLETING, /**< session-complete is under way or waits */
    SESSION_DONE,
};

struct session {
    struct path_node node; /**< in the root's table */
    struct root *root;
    struct session *next; /**< in the root */
    struct session **link;
    struct session *next_dirty; /**< in the list of those to look at */
    struct session *next_later; /**< in the list of those to look at later */
    struct session *next_completing;
    struct stream *stream[SCAN_CHANNELS_MAX]; /**< the first `streams` are in use */
    uint8_t streams;
    uint8_t layout;
    uint8_t state;
    bool dirty;
    bool later;       /**< it grew, and is looked at at later_at_ms */
    bool overdue;     /**< what the look finds has waited for its flush interval */
    bool wanted;      /**< to be uploaded */
    bool watched;     /**< the watcher was told */
    bool present;     /**< in the root's last whole listing, or found since */
    bool absent;      /**< its directory was not there at the last look */
    bool gone;        /**< its directory is, and the journal knows */
    bool looked;      /**< layout and streams are known */
    bool writer_gone; /**< probed before the last scan */
    bool writer_unknown;
    bool loss;
    unsigned refused;  /**< names in it that are no files of ours; said when it changes */
    bool unpublished;  /**< a crashed 1.3 writer left windows in `.tmp` */
    bool salvaging;    /**< they are being published, a step a look */
    bool salvage_over; /**< what is still there needs a person */
    const char *salvage_reason; /**< why it is still there; said once */
    bool held; /**< for a reason that only a change in the directory can lift */
    const char *hold_reason; /**< the last one that was said, a literal */
    bool complete_in_flight;
    bool in_cursor;     /**< the upload cursor names it */
    bool in_completing; /**< in the engine's list of them */
    uint32_t quarantined;
    uint32_t listed; /**< number of the listing of the root that named it last */
    unsigned complete_failures;
    uint64_t complete_at_ms;
    uint64_t hold_until_ms; /**< workspace limit */
    uint64_t last_growth_ms;
    uint64_t looked_at_ms;
    uint64_t quiet_until_ms; /**< something waits for its flush interval until then */
    uint64_t later_at_ms;    /**< when `later` is over */
    uint64_t seen_bytes;
    const char *id; /**< last component of path */
    char path[];    /**< below the root */
};

/** \return the session at \p path, or NULL. */
struct session *session_find(const struct root *root, const char *path);

/** \return the session at \p path, a new one if need be; NULL without memory. */
struct session *session_make(struct root *root, const char *path);

/** Frees a session to which nothing refers any more: see session_idle. */
void session_drop(struct session *session);

/** Puts it on the list of those to look at. */
void session_mark(struct session *session);

/** Puts it on the list of those to look at when the flush interval is over. */
void session_mark_later(struct session *session, uint64_t now_ms);

void session_set_state(struct session *session, enum session_state state);

/** Says why \p channel waits, "*" = all of the session, unless \p said is that reason:
 * once, however often it is looked at. */
void session_say_hold(struct session *session, const char *channel, const char *reason,
                      const char **said);

/** All of the session waits for a change in its directory. */
void session_hold(struct session *session, const char *reason);

/** It has not grown for as long as a writer that lives is hardly silent. */
bool session_silent(const struct session *session, uint64_t now_ms);

/** Whatever happens in it is told: its directory is watched, and its writer, which lives,
 * closes its files when it ends. */
bool session_tells(const struct session *session);

#endif
