/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine knows: the files that engine_internal.h names share it, and tests. */
#ifndef GPUFL_UPLOAD_ENGINE_ENGINE_STATE_H
#define GPUFL_UPLOAD_ENGINE_ENGINE_STATE_H

#include "base/uuid.h"
#include "upload/engine/backoff.h"
#include "upload/engine/counters.h"
#include "upload/engine/engine.h"
#include "upload/engine/frames.h"
#include "upload/engine/parked.h"
#include "upload/engine/path_table.h"
#include "upload/http/encode.h"
#include "upload/http/reply.h"
#include "upload/http/verdict.h"
#include "upload/journal/journal.h"
#include "upload/journal/journal_records.h"
#include "upload/source/java_cursor.h"
#include "upload/source/liveness.h"
#include "upload/source/tail.h"

/** A refused range is held instead of quarantined after this many in a row. */
#define REFUSALS_BEFORE_HOLD    8u
#define FAILURES_ALONE_REPORTED 8u
#define SLOW_RETRY_MS           60000u
#define JOURNAL_RETRY_MS        5000u
/** Without growth for so long, a session that nobody can probe has probably ended. */
#define SILENCE_MS 30000u
/** One more frame may be made at or below this: eight of the usual size. */
#define FRAME_BYTES_IN_FLIGHT (8u << 18)

/** Files of one channel of one session, read in order. */
struct stream {
    struct session *session;
    struct offer *offer;          /**< the one that is out, or NULL */
    struct stream *next;          /**< in the ready queue */
    uint64_t due_ms;              /**< not before this */
    uint64_t offset;              /**< settled bytes of file */
    uint64_t journal_file_ticket; /**< the record that named journal_file */
    uint64_t head; /**< of file, by which the shifting layout knows it; 0 = not yet */
    uint64_t lines;
    uint64_t refused_lines;
    const char *hold_reason; /**< the last one that was said, a literal */
    uint64_t seen;           /**< what the last look saw of its files */
    uint64_t waits_since_ms; /**< its oldest unsettled byte, at most, while it is not
                                drained */
    uint64_t split_end;      /**< until this offset of file… */
    uint32_t split_lines;    /**< …no batch has more lines; 0 = no limit */
    uint32_t file;           /**< settled file number, 1 or more */
    uint32_t journal_file;   /**< as the journal has it: may stand behind file */
    uint32_t sequence;       /**< last one used */
    uint32_t id;             /**< number in the journal, 0 = not there yet */
    uint32_t highest;        /**< highest numbered file seen */
    uint32_t lowest;         /**< lowest numbered payload seen, 0 = none */
    uint32_t counted_file;   /**< last file counted in the summary */
    uint8_t index;           /**< shifting layout: number of file when last seen */
    uint8_t channel;         /**< index into the root's channel_name */
    uint8_t kind;            /**< enum stream_kind */
    /* Many sessions wait at once: the switches share a byte. */
    bool queued : 1;
    bool held : 1;     /**< until something changes in the directory */
    bool keep : 1;     /**< something of it was taken without proof that it is stored */
    bool gap : 1;      /**< its first files were gone before we came */
    bool drained : 1;  /**< nothing unsettled at the last look */
    bool all_read : 1; /**< all that `seen` stands for was read */
    bool at_end : 1;   /**< the offer took all that its file had */
    bool more : 1;     /**< something happened since it was made */
    bool missing : 1;  /**< its file had more when last looked at, and is not there */
    bool at_shutdown : 1; /**< its next line, or its last, is the channel's shutdown */
};

/** What one look at a session's directory found. */
struct look {
    enum liveness writer;
    struct scan scan;
};

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

/** A watched root. */
struct root {
    struct engine *engine;
    unsigned index;
    char *path;
    int fd;       /**< holds the flock */
    int state_fd; /**< directory of the journal, -1 = memory */
    struct journal *journal;
    uint64_t journal_retry_ms;
    uint64_t lazy_until_ms; /**< then what waits for no one goes to the disk, too */
    struct engine_channels channels; /**< followed */
    /** All that are known: the followed ones first, then those only in the journal. */
    char channel_name[SCAN_CHANNELS_MAX][LAYOUT_CHANNEL_MAX + 1];
    unsigned channel_names;
    struct session *sessions;
    struct path_table by_path; /**< of these */
    struct parked parked;      /**< those that need no look */
    uint32_t last_stream_id;
    struct record_quarantine *quarantine;
    size_t quarantines;
    struct listing *listing; /**< under way, or NULL */
    uint32_t listing_number;
    unsigned looked_into;    /**< directories, in this step of it */
    struct timespec changed; /**< the root's mtime, when last asked */
    unsigned same_changes;   /**< so often it was the same since */
    bool only_sessions;      /**< were in it at the last listing, all known by now */
    bool list_soon;          /**< something came or went */
    bool grouped;            /**< a session lies in a directory of its group */
    bool look_at_all;        /**< at the next listing, whatever is watched */
    bool looks_at_all;       /**< at this one */
    uint64_t rescan_at_ms;
    uint64_t progress_at_ms;
    uint64_t progress_ticket;
    unsigned progress_stamp; /**< of the trouble that was told last */
    bool other_root_said;
    bool progress_off;     /**< it could not be written; said once */
    bool visited;          /**< the watcher was told of it */
    uint64_t change_stamp; /**< raised when a session comes or is done */
    uint64_t visit_stamp;
    bool cursor_stale;   /**< it does not name all sessions that are complete */
    size_t cursor_bytes; /**< of the upload cursor as we wrote it, 0 = not yet */
    uint32_t cursor_crc32c;
};

/** Of an offer whose record no journal took: the next rewrite gives it another. */
#define TICKET_NEVER UINT64_MAX

enum offer_state {
    OFFER_SYNCING, /**< its record is not on disk yet as the offer is now */
    OFFER_WAITING, /**< may be sent from retry_at_ms on */
    OFFER_IN_FLIGHT,
};

/** A range with an identity. */
struct offer {
    struct stream *stream;
    struct offer *next;
    struct offer **link;
    struct record_offer record;
    enum offer_state state;
    uint64_t ticket;
    uint64_t retry_at_ms;
    uint64_t made_ms;
    uint64_t successes_before; /**< of the origin, when it first failed */
    bool failed;
    unsigned failures_alone;
    bool maybe_stored;
    bool is_shutdown;
    bool paid; /**< its request is already counted in the bucket */
    void *frame;
    size_t frame_len;
    uint32_t crc32;
    int fd; /**< of a sealed window, else -1 */
    char id_text[UUID_TEXT];
};

/** The one backend. */
struct origin {
    enum { ORIGIN_UNASKED, ORIGIN_ASKING, ORIGIN_KNOWN } state;
    bool zstd;
    bool live_windows;
    bool no_zstd_ever; /**< it answered 415 */
    bool answered;
    unsigned failures;
    unsigned refusals; /**< single-line refusals since the last acceptance */
    uint64_t not_before_ms;
    uint64_t successes;
    unsigned in_flight;
    uint64_t reply_ms; /**< that answers take of late */
    enum engine_hold hold;
    int hold_status;
    int64_t trouble_since_s; /**< wall clock; 0 = it answers as it should */
};

struct queue {
    struct stream *first;
    struct stream **last;
};

struct engine {
    struct engine_config config;
    struct origin origin;
    struct bucket bucket;
    struct encoder *encoder;
    struct frames *frames;
    char *raw;
    size_t raw_cap;
    struct gz_cache gz;
    struct root *root[ENGINE_ROOTS_MAX];
    unsigned roots;
    struct session *dirty; /**< to look at, in order */
    struct session **dirty_last;
    struct session *later; /**< they grew and are looked at later, in order */
    struct session **later_last;
    struct queue live;
    struct queue backlog;
    struct offer *offers;
    unsigned offer_count;
    size_t frame_bytes;
    uint64_t made_bytes; /**< raw bytes that offers_make put into frames, last time … */
    uint64_t made_frame_bytes;  /**< … and how large these are */
    struct session *completing; /**< those in that state, and some that were */
    unsigned completing_count;
    bool wants_more; /**< requests could be made, and nothing that is open is ready */
    bool polling;    /**< nobody tells what changes */
    struct engine_summary total;
    struct counters counters;
    bool skew_said;
    unsigned
        trouble_stamp; /**< raised when something begins or ends to stand in the way */
};

#endif
