/* SPDX-License-Identifier: Apache-2.0 */
/* The journal's record types, written and read. */
#ifndef GPUFL_UPLOAD_JOURNAL_JOURNAL_RECORDS_H
#define GPUFL_UPLOAD_JOURNAL_JOURNAL_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/layout.h"
#include "upload/journal/journal.h"
#include "upload/journal/record_position.h"

/** Room for a session's path beneath its root: `[group/]id`, NUL included. */
#define JOURNAL_PATH_MAX LAYOUT_SESSION_PATH_MAX

enum record_type {
    JOURNAL_STREAM = 1,  /**< a stream gets its number, kind and starting position */
    JOURNAL_OFFER = 2,   /**< a range has an identity; replaces the stream's open offer */
    JOURNAL_SETTLED = 3, /**< the range is done with: acknowledged or refused */
    /** a range that was refused for good, which counts once JOURNAL_SETTLED follows */
    JOURNAL_QUARANTINE = 4,
    JOURNAL_DONE = 5,   /**< the session is complete at the backend */
    JOURNAL_FORGET = 6, /**< its directory has not been there for long */
    /** a person let a range out of quarantine: it is stored, or given up */
    JOURNAL_RELEASED = 7,
    JOURNAL_ATTEMPT = 8,    /**< whether the stream's open offer may have left the host */
    JOURNAL_AWAY = 9,       /**< for how long its directory has not been there */
    JOURNAL_SEALED = 10,    /**< the newest sealed file that was seen of a live stream; in
                               the layout of 1.1, the file before the one that is read */
    JOURNAL_RESOLVED = 11,  /**< a person gave up what is wrong with a whole session */
    JOURNAL_ORIGIN = 16,    /**< the backend that all positions are about */
    JOURNAL_REACHED = 17,   /**< how far a stream was sent to an earlier backend */
    JOURNAL_CLAIM = 18,     /**< which of several directories has a session id */
    JOURNAL_DIRECTORY = 19, /**< which directory a session has, and whether it moved */
    JOURNAL_PASSED = 20,    /**< files that were given up, see record_passed.h */
};

enum stream_kind { STREAM_UNSET = 0, STREAM_BATCHED = 1, STREAM_VERBATIM = 2 };

/** How a range was settled. */
enum settled_how {
    SETTLED_ACKED = 0,
    SETTLED_QUARANTINED = 1,
    SETTLED_REFUSED_FINAL = 2,
    SETTLED_UNPROVEN = 3, /**< acknowledged, but not as stored: files are kept */
    /** a person gave up what is before this position, and `lines` that were refused */
    SETTLED_GIVEN_UP = 4,
    SETTLED_ENDED = 5, /**< likewise, and whatever cannot be read in this file */
};

/** Whether the server may have got an offer. */
enum offer_sent {
    OFFER_SENT_UNKNOWN, /**< written by a version that did not record it */
    OFFER_NOT_SENT,
    OFFER_MAYBE_SENT,
};

enum {
    MARK_KEEP = 1,         /* never delete its files */
    MARK_GAP = 2,          /* begins late */
    MARK_LOST = 4,         /* a person gave up part of it */
    MARK_ENDED = 8,        /* and what cannot be read in its file */
    MARK_POSITIONS = 16,   /* it goes by positions */
    MARK_JUMP = 32,        /* what lies between its end at the backend and here is lost */
    MARK_DELIVERED = 64,   /* its session was complete when it ended here */
    MARK_LOST_AFTER = 128, /* what follows its farthest end was declared lost */
};

struct record_stream {
    uint32_t stream;
    uint8_t kind;
    uint32_t file;
    uint64_t offset;
    uint32_t sequence; /**< last one used */
    uint64_t lines;    /**< settled so far */
    uint64_t refused_lines;
    uint8_t marks;           /**< MARK_… */
    uint64_t head;           /**< of file, shifting layout; else 0 */
    struct record_mark mark; /**< before offset */
    uint8_t layout;          /**< 1 + enum session_layout; 0 = not known */
    struct record_end at;
    char path[JOURNAL_PATH_MAX];
    char channel[LAYOUT_CHANNEL_MAX + 1];
};

struct record_offer {
    uint32_t stream;
    uint32_t sequence;
    unsigned char id[16];
    uint32_t file;
    uint64_t begin, end; /**< bytes of the file */
    uint32_t lines;
    uint8_t codec;
    uint8_t level;
    uint16_t parameter_set; /**< raised when equal input would give other bytes */
    uint32_t library;       /**< version number of the codec's library */
    uint8_t unterminated;   /**< 1: the file's last line had no newline, one is added */
    uint8_t encoding_changed;
    uint64_t head; /**< of file, shifting layout; else 0 */
    /** The batch that this is the first part of may be stored: its end and lines; 0 = no.
     * The backend's word that the sequence is taken then means that batch. */
    uint64_t whole_end;
    uint32_t whole_lines;
    uint8_t sent;            /**< enum offer_sent */
    struct record_mark mark; /**< before end */
};

/** About the offer that a stream has open. */
struct record_attempt {
    uint32_t stream;
    uint32_t sequence;
    uint8_t sent; /**< enum offer_sent */
};

struct record_settled {
    uint32_t stream;
    uint32_t sequence;
    uint32_t file;
    uint64_t end;
    uint32_t lines;
    uint8_t how;
    uint64_t head;           /**< of file, shifting layout; else 0 */
    struct record_mark mark; /**< before end */
    struct record_end at;    /**< file 0 = the stream does not go by positions */
    uint32_t rejected_lines; /**< of a batch that the backend took, besides lines; not
                                  with positions. Earlier versions do not read it */
};

/** A sealed file, which its writer may still take back and append to. */
struct record_sealed {
    uint32_t stream;
    uint32_t file;           /**< its number, 0 = there is none */
    uint64_t bytes;          /**< its size when it was seen */
    struct record_mark mark; /**< before its end */
    uint32_t deleted;        /**< this uploader deleted the files up to this one once they
                                  were sent, but for those that it kept for a range in
                                  quarantine; 0 = none. Earlier versions do not tell */
};

struct record_quarantine {
    uint32_t stream;
    uint32_t sequence;
    unsigned char id[16];
    uint32_t file;
    uint64_t begin, end;
    uint32_t lines;
    int32_t status;   /**< HTTP status; 0 = never sent (a local reason) */
    uint32_t owner;   /**< whose share it takes room of; not in the journal */
    char reason[201]; /**< first bytes of the answer, or the local reason */
};

/** Names a quarantined range. */
struct record_released {
    uint32_t stream;
    uint32_t file;
    uint64_t begin;
    uint8_t stored; /**< 1: the backend has it now; 0: it is given up */
};

/** What a person gave up of a whole session. */
struct record_resolved {
    uint64_t unread;     /**< stands for the names of files that are not read; 0 = none */
    uint8_t no_manifest; /**< 1: it is read as a live session without a manifest */
    char path[JOURNAL_PATH_MAX];
};

#define JOURNAL_URL_MAX  512u
#define JOURNAL_SALT     16u
#define JOURNAL_KEY_HASH 32u

/** A backend. The key is stored as a hash over a random salt and its own hash. */
struct record_origin {
    char url[JOURNAL_URL_MAX]; /**< normalised; "" = none was recorded */
    unsigned char salt[JOURNAL_SALT];
    unsigned char key[JOURNAL_KEY_HASH];
    uint8_t again; /**< 1: it is another one than before: all positions begin again */
    uint8_t moved; /**< 1: it was another one at some time, so that what other programs
                      noted in the directories may be about that one */
    uint8_t same;  /**< 1: the record before is about the same one, by another name or key
                    */
    uint64_t database; /**< stands for its database; 0 = not known */
};

struct record_reached {
    uint32_t stream;
    uint32_t file;
    uint64_t offset;
};

/** What the backend knows of a session that is done. */
enum session_outcome {
    SESSION_TOLD,     /**< that it is complete; nothing was compared */
    SESSION_VERIFIED, /**< likewise, and the ends of all its streams were equal */
    SESSION_LACKS,    /**< likewise, and that lines of it were lost or skipped */
    SESSION_MARKED,   /**< nothing: another program has marked it, and it is left alone */
};

/** For JOURNAL_DONE and JOURNAL_FORGET. */
struct record_session {
    uint8_t outcome; /**< enum session_outcome; with JOURNAL_DONE */
    char path[JOURNAL_PATH_MAX];
};

/** About a session that the journal knows. */
struct record_away {
    uint32_t days; /**< on which its directory was missed; 0 = it is there */
    uint32_t last; /**< the last of them, since 1970 */
    char path[JOURNAL_PATH_MAX];
};

/** Another directory has the same name, and waits. */
struct record_claim {
    uint32_t owner;    /**< user of the directory that has the id */
    uint8_t has_owner; /**< 0: it was gone already */
    char path[JOURNAL_PATH_MAX];
};

/* Each appends one record. \return the ticket, 0 on failure. */
uint64_t record_append_stream(struct journal *journal,
                              const struct record_stream *record);
uint64_t record_append_offer(struct journal *journal, const struct record_offer *record);
uint64_t record_append_attempt(struct journal *journal,
                               const struct record_attempt *record);
uint64_t record_append_settled(struct journal *journal,
                               const struct record_settled *record);
uint64_t record_append_sealed(struct journal *journal,
                              const struct record_sealed *record);
uint64_t record_append_quarantine(struct journal *journal,
                                  const struct record_quarantine *record);
uint64_t record_append_released(struct journal *journal,
                                const struct record_released *record);
uint64_t record_append_resolved(struct journal *journal,
                                const struct record_resolved *record);
uint64_t record_append_away(struct journal *journal, const struct record_away *record);
uint64_t record_append_origin(struct journal *journal,
                              const struct record_origin *record);
uint64_t record_append_reached(struct journal *journal,
                               const struct record_reached *record);
uint64_t record_append_claim(struct journal *journal, const struct record_claim *record);
uint64_t record_append_done(struct journal *journal, const char *path,
                            enum session_outcome outcome);
uint64_t record_append_session(struct journal *journal, enum record_type type,
                               const char *path);

/* Each reads one record. \return false when it is not what it says. */
bool record_parse_stream(const struct journal_record *record, struct record_stream *out);
bool record_parse_offer(const struct journal_record *record, struct record_offer *out);
bool record_parse_attempt(const struct journal_record *record,
                          struct record_attempt *out);
bool record_parse_settled(const struct journal_record *record,
                          struct record_settled *out);
bool record_parse_sealed(const struct journal_record *record, struct record_sealed *out);
bool record_parse_quarantine(const struct journal_record *record,
                             struct record_quarantine *out);
bool record_parse_released(const struct journal_record *record,
                           struct record_released *out);
bool record_parse_resolved(const struct journal_record *record,
                           struct record_resolved *out);
bool record_parse_away(const struct journal_record *record, struct record_away *out);
bool record_parse_origin(const struct journal_record *record, struct record_origin *out);
bool record_parse_reached(const struct journal_record *record,
                          struct record_reached *out);
bool record_parse_claim(const struct journal_record *record, struct record_claim *out);
bool record_parse_session(const struct journal_record *record,
                          struct record_session *out);

#endif
