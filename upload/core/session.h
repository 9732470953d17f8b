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

/** Is its directory there? */
enum session_presence {
    SESSION_UNSEEN,  /**< the last whole listing of the root did not name it */
    SESSION_PRESENT, /**< it did, or the directory was found since */
    SESSION_ABSENT,  /**< it did, but the last look did not find it: a listing tells */
    SESSION_GONE,    /**< it is not, and the journal knows */
};

/** Does its writer live, as far as the last look tells? */
enum session_writer {
    SESSION_WRITER_LIVES,
    SESSION_WRITER_UNKNOWN, /**< it cannot be probed */
    SESSION_WRITER_ENDED,   /**< it cannot be probed, and what is there says that it ended
                             */
    SESSION_WRITER_GONE,
};

/** What becomes of the windows that a crashed 1.3 writer left in `.tmp`. */
enum session_salvage {
    SESSION_SALVAGE_NONE,   /**< there are none */
    SESSION_SALVAGE_WAITS,  /**< nobody publishes them now */
    SESSION_SALVAGE_RUNS,   /**< they are being published, a step a look */
    SESSION_SALVAGE_PERSON, /**< what is still there needs a person */
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
    uint8_t layout;   /**< enum session_layout */
    uint8_t state;    /**< enum session_state */
    uint8_t presence; /**< enum session_presence */
    uint8_t writer;   /**< enum session_writer */
    uint8_t salvage;  /**< enum session_salvage */
    bool wanted;      /**< to be uploaded */
    bool looked;      /**< layout and streams are known */
    bool watched;     /**< the watcher was told */
    bool loss;        /**< its writer dropped rows */
    bool held;        /**< for a reason that only a change in the directory can lift */
    bool dirty;       /**< in the list of those to look at */
    bool later;       /**< it grew, and is looked at at later_at_ms */
    bool overdue;     /**< what the look finds has waited for its flush interval */
    bool complete_in_flight;
    bool in_completing;         /**< in the engine's list of them */
    bool in_cursor;             /**< the upload cursor names it */
    const char *salvage_reason; /**< why something is still in `.tmp`; said once */
    const char *hold_reason;    /**< the last one that was said, a literal */
    unsigned refused; /**< names in it that are no files of ours; said when it changes */
    uint32_t quarantined; /**< ranges */
    uint32_t listed;      /**< number of the listing of the root that named it last */
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

/** The last whole listing of the root named it, or its directory was found since. */
bool session_is_listed(const struct session *session);

/** Its writer is gone, by a probe or by what is there. */
bool session_writer_is_gone(const struct session *session);

/** Its writer could not be probed. */
bool session_writer_is_unprobed(const struct session *session);

/** It has not grown for as long as a writer that lives is hardly silent. */
bool session_silent(const struct session *session, uint64_t now_ms);

/** Whatever happens in it is told: its directory is watched, and its writer, which lives,
 * closes its files when it ends. */
bool session_tells(const struct session *session);

#endif
