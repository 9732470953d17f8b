/* SPDX-License-Identifier: Apache-2.0 */
/* One session: what is known of it, and when it is inspected. */
#ifndef GPUFL_UPLOAD_CORE_SESSION_H
#define GPUFL_UPLOAD_CORE_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "upload/core/absence.h"
#include "upload/core/held.h"
#include "upload/core/path_table.h"
#include "upload/core/registry.h"
#include "upload/source/directory_mark.h"
#include "upload/source/scan.h"
#include "upload/source/second_form.h"

/** A session that cannot be probed has probably ended when it has not grown for so long.
 */
#define SESSION_SILENCE_MS 30000u

/** So many bytes of its files count for each that they take on disk: they, or the file
 * system, may be compressed. */
#define SESSION_COMPARED_FOR_EACH_BYTE 32u

#define SESSION_OWNER_UNKNOWN DIRECTORY_USER_UNKNOWN
/** Nobody's uid. */
#define SESSION_OWNER_NONE UINT32_MAX

struct end_parting;
struct end_proof;
struct inspect_look;
struct stream;

enum session_state {
    SESSION_OPEN,
    SESSION_COMPLETING, /**< session-complete is under way or waits */
    SESSION_DONE,
};

/** Whether its directory is there. */
enum session_presence {
    SESSION_UNSEEN,  /**< the last whole listing of the root did not name it */
    SESSION_PRESENT, /**< it did, or the directory was found since */
    SESSION_ABSENT, /**< it did, but the last inspection did not find it; the next listing
                       decides */
    SESSION_AWAY, /**< no whole listing has named it since; what is known of it is kept */
};

/** Whether its writer lives, according to the last inspection. */
enum session_writer {
    SESSION_WRITER_LIVES,
    SESSION_WRITER_UNKNOWN, /**< it cannot be probed */
    SESSION_WRITER_ENDED,   /**< it cannot be probed, but its files show that it ended */
    SESSION_WRITER_GONE,
};

/** What happens to windows that a crashed 1.3 writer left in `.tmp`. */
enum session_salvage {
    SESSION_SALVAGE_NONE,   /**< there are none */
    SESSION_SALVAGE_WAITS,  /**< they are not being published */
    SESSION_SALVAGE_RUNS,   /**< they are being published, one step per inspection */
    SESSION_SALVAGE_PERSON, /**< a person must deal with what is left */
};

struct session {
    struct path_node node;  /**< in the root's table, by its path … */
    struct path_node by_id; /**< … and by its id: several may claim one */
    struct root *root;
    struct session *next; /**< in the root */
    struct session **link;
    struct visits_node turn;    /**< among those to be inspected */
    struct session *next_later; /**< in the list of those to be inspected later */
    struct session *next_completing;
    struct stream *stream[SCAN_CHANNELS_MAX]; /**< the first `streams` are in use */
    struct directory_id directory;            /**< that was noted last */
    struct directory_id seen;                 /**< that is being inspected */
    uint64_t stray;         /**< mark of another one that is in its place, 0 = none is */
    uint32_t stray_listing; /**< the first listing that began since then */
    uint32_t elsewhere;     /**< the last listing that named the noted one elsewhere */
    uint64_t changed; /**< when its directory had changed last, before the last whole
                     inspection; 0 = not known */
    uint32_t owner;   /**< uid of its directory at the last whole inspection */
    uint32_t
        charged_to; /**< whose share it takes room of, SHARES_NOBODY = not yet known */
    uint32_t charged_bytes; /**< … so much */
    uint32_t turn_of;       /**< in whose turn it was opened, and is on its way; or
                               SHARES_NOBODY */
    uint8_t streams;
    uint8_t layout;         /**< enum session_layout */
    uint8_t state;          /**< enum session_state */
    uint8_t outcome;        /**< enum session_outcome, once it is done */
    uint8_t outcome_before; /**< likewise, of one that was done before */
    uint8_t presence;       /**< enum session_presence */
    uint8_t writer;         /**< enum session_writer */
    uint8_t salvage;        /**< enum session_salvage */
    bool was_done;          /**< it was opened again */
    bool wanted;            /**< to be uploaded */
    bool inspected;         /**< layout and streams are known */
    bool live;              /**< it had a valid manifest once */
    bool watched;           /**< the watcher knows it */
    bool unwatchable;       /**< the watcher has no room for more of its owner */
    bool loss;              /**< its writer dropped rows */
    bool is_copy;           /**< its writer wrote into another directory */
    bool held;              /**< until something changes in the directory */
    bool alone;             /**< its id was found nowhere else, see claim_search.h */
    bool dirty;             /**< `turn` is in the list of sessions to inspect */
    bool marked_again;      /**< it was to be added to that while `look` was under way */
    bool crowd;   /**< a directory with many names, of which none that was read shows that
                     it is a session */
    bool later;   /**< it grew, and is inspected at later_at_ms */
    bool overdue; /**< what the inspection finds has waited for its flush interval */
    bool seems_over; /**< its writer cannot be probed and has probably ended, and nothing
                        more of it can be sent */
    bool complete_in_flight;
    bool claim_foreign;   /**< the claim was refused, as another user's session */
    bool ends_in_flight;  /**< the ends of its streams are being asked for */
    bool in_completing;   /**< in the engine's list of them */
    bool in_cursor;       /**< the upload cursor names it */
    bool salvage_noted;   /**< what is in its `.tmp` counts in compare_left */
    bool directory_noted; /**< the journal has `directory` */
    uint64_t
        moved_ticket; /**< of what was copied from another root's journal; 0 = none */
    struct inspect_look *look; /**< an inspection in steps that is under way, or NULL */
    struct salvage_readings *readings; /**< of its `.tmp`, while they are being
                                          published; or NULL */
    const char *salvage_reason; /**< why something is still in `.tmp`; logged once */
    uint8_t hold_reason;        /**< enum held_reason; the last one that was logged */
    uint64_t holds_said;        /**< all that were, see held_was_said() */
    uint64_t holds_noted;       /**< stands for its holds as they were noted last */
    unsigned unread;            /**< files that are not read and may hold records */
    uint64_t unread_mark;       /**< stands for their names */
    uint64_t unread_given_up;   /**< the mark of those that a person gave up */
    struct second_known second[CHANNEL_COUNT]; /**< what compressed active files were
                                                  found to be */
    bool no_manifest;                          /**< a person gave up its manifest */
    uint16_t unread_said; /**< reasons that were logged, bits of enum unread_reason */
    bool other_said;      /**< files that cannot hold any were logged */
    bool beside_said;     /**< that sessions lie in its directory was logged */
    uint32_t quarantined; /**< ranges */
    uint32_t listed;      /**< number of the listing of the root that named it last */
    uint32_t stamp;       /**< of its files at the last inspection, see scan_stamp(); 0 =
                             not known, or some are not followed */
    uint32_t settled_stamp; /**< the last one of which all was settled; 0 = none */
    bool hides_end;         /**< by then, positions did not tell where it ends */
    struct absence absence;
    unsigned complete_failures;
    int complete_refused; /**< the status by which session-complete was refused, 0 = none
                           */
    uint64_t successes_before; /**< of the origin, when session-complete first failed */
    unsigned ends_failures;
    int ends_refused;            /**< the status by which it was not told, 0 = it was */
    uint64_t ends_at_ms;         /**< they are not asked for before this */
    struct end_proof *proof;     /**< of each stream's end as it was told, or NULL */
    struct end_parting *parting; /**< where bytes part is looked for, or NULL */
    char *claim;                 /**< body of session-complete, while that is under way */
    uint64_t claim_epoch;        /**< of the backend, when that was sent */
    uint64_t complete_at_ms;
    uint64_t complete_ticket; /**< once this is on disk, all that was settled is */
    uint64_t hold_until_ms;   /**< the workspace is at its limit until then */
    uint64_t last_growth_ms;  /**< when it was noticed */
    uint64_t grew_after_ms;   /**< when the inspection before that one was, if it was
                                 noticed at one: it grew since; 0 = not known */
    uint64_t heard_ms; /**< when the backend last got lines of it or was told that it is
                          alive; 0 = not known */
    uint64_t looked_at_ms;
    uint64_t quiet_until_ms; /**< something waits for its flush interval until then */
    uint64_t later_at_ms;    /**< when `later` is over */
    uint64_t seen_bytes;
    uint64_t seen_at_ms;   /**< at the inspection that was then */
    uint64_t compare_left; /**< bytes of which it counts if they are compared, or read of
                              `.tmp` */
    const char *id;        /**< last component of path */
    char path[];           /**< below the root */
};

/** \return the session whose turn \p node is; NULL for NULL. */
struct session *session_of_turn(struct visits_node *node);

/** \return the session at \p path, or NULL. */
struct session *session_find(const struct root *root, const char *path);

/** \return a session that has or claims \p id, or NULL. */
struct session *session_of_id(const struct root *root, const char *id);

/** \return another one with the id of \p session, or NULL. */
struct session *session_next_of_id(const struct session *session);

/** \return the session at \p path, created if need be; NULL without memory. */
struct session *session_make(struct root *root, const char *path);

/** Counts it as \p bytes of the share of \p owner, instead of what was counted before. */
void session_charge(struct session *session, uint32_t owner, uint64_t bytes);

/** Counts it among those of \p owner that waited for their turn, and had it… */
void session_begin_turn(struct session *session, uint32_t owner);

/** …until it is sent, or waits for something else than others. */
void session_end_turn(struct session *session);

/** Adds it to the list of sessions to inspect. */
void session_mark(struct session *session);

/** Adds it to the list of sessions to inspect when the flush interval is over. */
void session_mark_later(struct session *session, uint64_t now_ms);

/** A session that is to be completed is added to the engine's list of those. */
void session_set_state(struct session *session, enum session_state state);

/** As log_about(), with the account whose session it is, if that is known. */
uint32_t session_log_about(const struct session *session);

/** Logs why \p channel waits ("*" = the whole session). */
void session_say_hold(struct session *session, const char *channel, const char *reason);

/** Logs that the backend knows of \p lines that were refused, if that is more than the
 * \p had that were known here. */
void session_say_refused(struct session *session, const char *channel, uint64_t had,
                         uint64_t lines);

/** Holds the whole session until something changes in its directory. */
void session_hold(struct session *session, enum held_reason reason);

/** Opens the directory that was noted, with O_PATH. \return the descriptor, or -1 with
 * errno: ESTALE if another one is in its place. */
int session_open_directory(const struct session *session);

/** Reads a small file of its directory; the caller frees *text. \return GPUFL_OK,
 * GPUFL_ERR_NOT_FOUND or what file_read() says. */
GPUFL_MUST gpufl_status session_read_file(const struct session *session, const char *name,
                                          char **text, size_t *len);

/** Appends to the journal by what its directory is known again, once something of the
 * session is there. */
void session_note_directory(struct session *session);

/** \return when a directory changed last, as struct session has it. */
uint64_t session_changed(const struct stat *st);

/** \return what a person gave up of it, as a record of the journal. */
struct record_resolved session_resolved(const struct session *session);

/** \return false for a directory in which nothing shows, or has shown, that it is one. */
bool session_is_one(const struct session *session);

/** \return the account in whose turn it is served: that of the user who owns its
 * directory, also in a group, as the group of one user may let others make sessions in
 * it. */
uint32_t session_lane(const struct session *session);

/** \return the uid of the directory \p path: as the journal has \p noted it (plus one, 0
 * = not), else as it is now, else as it was \p seen; SESSION_OWNER_UNKNOWN. */
uint32_t session_user_at(const struct root *root, const char *path, uint32_t noted,
                         uint32_t seen);

/** The same of a session. */
uint32_t session_user(const struct session *session);

/** \return true if it was not asked for as such, but with all that are there, by another
 * user than its own. */
bool session_is_anothers(const struct session *session);

/** Counts \p bytes of its files that were compared with what the backend has, up to what
 * was there when it was first inspected, however often that is compared. */
void session_note_compared(struct session *session, uint64_t bytes);

/** \return true if the last whole listing named it, or its directory was found since. */
bool session_is_listed(const struct session *session);

/** \return true if its writer is gone, by a probe or by the evidence of its files. */
bool session_writer_is_gone(const struct session *session);

/** \return true if its writer could not be probed. */
bool session_writer_is_unprobed(const struct session *session);

/** \return true if it has not grown for SESSION_SILENCE_MS. */
bool session_silent(const struct session *session, uint64_t now_ms);

/** \return true if so, and its writer could not be probed. */
bool session_writer_is_silent(const struct session *session, uint64_t now_ms);

/** \return true if the watcher reports whatever happens in it: its directory is watched,
 * and its living writer closes its files when it ends. */
bool session_tells(const struct session *session);

#endif
