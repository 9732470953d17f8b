/* SPDX-License-Identifier: Apache-2.0 */
/* A watched root and the tables in it: channels, sessions, streams, ranges. */
#ifndef GPUFL_UPLOAD_CORE_REGISTRY_H
#define GPUFL_UPLOAD_CORE_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "schema/layout.h"
#include "upload/core/engine_state.h"
#include "upload/core/parked.h"
#include "upload/core/path_table.h"
#include "upload/journal/journal.h"
#include "upload/journal/journal_records.h"
#include "upload/journal/lookup.h"
#include "upload/journal/origin_history.h"
#include "upload/journal/range_list.h"
#include "upload/journal/record_passed.h"
#include "upload/journal/state_dir.h"
#include "upload/owners/portions.h"
#include "upload/source/scan.h"

struct listing;
struct other_roots;
struct room_wait;
struct run_dir;
struct session;
struct stream;

/** A session in whose place is another directory than was noted. */
struct stray {
    uint64_t mark; /**< of the noted one */
    char *path;
};

struct strays {
    struct stray *stray;
    struct lookup by_mark; /**< of these */
    size_t cap;
};

/** What an event should have told is looked at in each so many-th listing. */
#define QUIET_LISTINGS 6u

#define STREAM_NUMBERS_AT_FIRST 64u

/** Streams by their numbers; all zero when there are none. */
struct stream_numbers {
    struct stream **bucket;
    unsigned buckets; /**< a power of two, or 0: then all are in `single` */
    unsigned count;
    struct stream *single;
};

/** What the backend of the settings is to the journal of a root. */
enum root_backend {
    BACKEND_NOTED,   /**< the one that it is about, with the same key */
    BACKEND_UNNOTED, /**< another one, or another key, or it does not say */
    BACKEND_ASKED, /**< … which must have taken the key before anything else happens */
    BACKEND_MOVED_TO /**< … and then everything is to be sent to it */
};

/** A directory below a root that is listed, as it may contain sessions. */
struct group {
    struct listing *listing; /**< NULL = none */
    char name[LAYOUT_NAME_MAX + 1];
    uint32_t owner; /**< its account */
    unsigned names; /**< so far */
    bool reported;  /**< by the watcher, not by a listing */
};

/** A pass over the names in a root, beside a listing of it that takes long, which looks
 * into what is not known, for few directories of each owner. */
struct brief {
    struct listing *listing; /**< under way, or NULL */
    struct shares spent;     /**< by each owner */
    bool wanted;             /**< something came, and which name it has is not known */
    uint64_t begun_ms;
    uint64_t next_ms; /**< none begins before */
};

/** A watched root. */
struct root {
    struct engine *engine;
    unsigned index;
    char *given; /**< the path as it was named, which may name another directory later */
    char *path;  /**< what it named when it was opened */
    bool away;   /**< it does not name the directory that is open */
    bool deserted; /**< the last listing named no session that was known before, and some
                      are unfinished */
    bool unwatch;  /**< the watcher still watches the directory that was open before */
    uint64_t reopen_at_ms;
    bool bound;            /**< the process may open nothing that is put in its place */
    char away_reason[200]; /**< why it is away, as it was logged */
    int fd;                /**< holds the flock */
    bool unlocked; /**< another user holds the flock; it is taken when that is gone */
    int lock_fd;   /**< holds a lock in the state directory; -1 = none */
    struct run_dir *published;         /**< NULL = nothing is told to other users */
    int state_fd;                      /**< directory of the journal, -1 = memory */
    char journal_name[STATE_NAME_MAX]; /**< in that directory */
    struct journal *journal;
    struct origin_history origin; /**< the backend that the journal is about */
    enum root_backend backend;    /**< that of the settings */
    bool origin_same;             /**< which is the same, by the word of a person */
    bool said_new;                /**< that nothing is known of what was sent before */
    uint64_t epoch;      /**< of the backend, when all complete sessions were compared */
    uint64_t epoch_asks; /**< for which they are being opened … */
    unsigned epoch_left; /**< … so many at most */
    uint64_t journal_retry_ms;
    uint64_t lazy_until_ms; /**< when records that nobody waits for are synced as well; 0
                               = there are none */
    struct engine_channels channels; /**< followed */
    /** All known channels: the followed ones first, then those only in the journal. */
    char channel_name[SCAN_CHANNELS_MAX][LAYOUT_CHANNEL_MAX + 1];
    unsigned channel_names;
    struct session *sessions;
    struct path_table by_path; /**< of these */
    struct path_table by_id;   /**< likewise */
    struct parked parked;      /**< sessions that need no attention */
    uint32_t last_stream_id;
    struct stream_numbers numbers; /**< see core/stream_numbers.h */
    struct range_list quarantine;
    struct record_passed *passed; /**< see core/passed.h */
    size_t passes;
    size_t passes_cap;
    struct listing *listing;  /**< under way, or NULL */
    struct group group;       /**< the same of a directory in the root */
    struct portions portions; /**< of the listing */
    struct brief brief;       /**< what came meanwhile */
    struct shares touched;  /**< what was looked into in this turn, as it was reported */
    struct path_table kept; /**< see lifecycle/kept.h */
    struct other_roots *others; /**< see lifecycle/other_root.h */
    struct room_wait *waits;    /**< see core/room.h */
    uint32_t listing_number;
    uint32_t whole_listing; /**< number of the last one that has ended without an error */
    struct strays strays;   /**< see core/strays.h */
    bool listed;            /**< wholly, once */
    unsigned
        inspected; /**< directories inspected since the last step of a listing began */
    unsigned known_named; /**< sessions in this listing that were known before it */
    bool journal_inside;  /**< it lies below the root */
    struct timespec requests_changed; /**< the state directory's mtime, when last asked */
    bool requests_busy;               /**< it is looked at again */
    struct resolve_unfinished *unfinished; /**< see resolve/resolve_request.c */
    struct timespec changed;               /**< the root's mtime, when last asked */
    unsigned same_changes;                 /**< how many times in a row it was the same */
    bool only_sessions; /**< the last listing found nothing but sessions, all known by now
                         */
    bool list_soon;     /**< something came or went */
    bool grouped;       /**< a session lies in a directory of its group */
    bool inspect_all;   /**< at the next listing, whatever is watched */
    bool inspects_all;  /**< at this one */
    bool inspects_complete; /**< at this one, whether complete sessions have grown */
    uint64_t complete_inspect_ms; /**< when that is due again */
    uint64_t complete_begun_ms;   /**< when it began last */
    uint64_t rescan_at_ms;
    uint64_t progress_at_ms;
    uint64_t progress_ticket;
    unsigned progress_stamp;   /**< of the trouble that was last published */
    bool progress_unwritten;   /**< it could not be written … */
    bool progress_off;         /**< … and that was said */
    uint64_t progress_look_ms; /**< when it is looked at again whether it can be read */
    uint32_t progress_key;     /**< see published/progress_key.h */
    uint64_t follow_at_ms;     /**< when it is looked at again who wrote it last */
    uint64_t followed;     /**< stands for the file that was looked at last, 0 = none */
    bool cursor_off;       /**< the same of the upload cursor */
    bool visited;          /**< the watcher knows it */
    uint64_t change_stamp; /**< raised when a session appears or is done */
    uint64_t visit_stamp;
    bool cursor_stale;   /**< it does not name all sessions that are complete */
    size_t cursor_bytes; /**< of the upload cursor as we wrote it, 0 = not yet */
    uint32_t cursor_crc32c;
};

/** \return the index of a channel's name in the root, added if need be; -1 if there are
 * too many. */
int registry_channel(struct root *root, const char *channel);

/** \return true if the channel is one of those that are sent from the root. */
bool registry_follows(const struct root *root, const char *channel);

/** Appends to the journal for how long the session at \p path has been away; one that is
 * broken gets it when it is rewritten. */
void registry_append_absence(const struct root *root, const char *path,
                             const struct absence *absence);

#endif
