/* SPDX-License-Identifier: Apache-2.0 */
/* The journal's record types: facts about streams, as bytes and back. */
#ifndef GPUFL_UPLOAD_FACTS_H
#define GPUFL_UPLOAD_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/layout.h"
#include "upload/journal.h"

/** Room for a session's path beneath its root: `[group/]id`, NUL included. */
#define FACTS_PATH_MAX (2 * (LAYOUT_NAME_MAX + 1))

enum fact_type {
    FACT_STREAM = 1,     /**< a stream gets its number, kind and starting position */
    FACT_OFFER = 2,      /**< a range has an identity; replaces the stream's open offer */
    FACT_SETTLED = 3,    /**< the range is behind us, one way or another */
    FACT_QUARANTINE = 4, /**< a range that was refused for good */
    FACT_DONE = 5,       /**< the session is complete at the backend */
    FACT_FORGET = 6,     /**< its directory is gone */
    FACT_RELEASED = 7, /**< a person let a range out of quarantine: stored, or given up */
};

enum stream_kind { STREAM_UNSET = 0, STREAM_BATCHED = 1, STREAM_VERBATIM = 2 };

/** How a range was settled. */
enum settled_how {
    SETTLED_ACKED = 0,
    SETTLED_QUARANTINED = 1,
    SETTLED_REFUSED_FINAL = 2,
    SETTLED_UNPROVEN = 3, /**< acknowledged, but not as stored: files are kept */
};

enum { MARK_KEEP = 1 /* its files are never deleted */, MARK_GAP = 2 /* begins late */ };

struct fact_stream {
    uint32_t stream;
    uint8_t kind;
    uint32_t file;
    uint64_t offset;
    uint32_t sequence; /**< last one used */
    uint64_t lines;    /**< settled so far */
    uint64_t refused_lines;
    uint8_t marks; /**< MARK_KEEP | MARK_GAP */
    uint64_t head; /**< of file, shifting layout; else 0 */
    char path[FACTS_PATH_MAX];
    char channel[LAYOUT_CHANNEL_MAX + 1];
};

struct fact_offer {
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
};

struct fact_settled {
    uint32_t stream;
    uint32_t sequence;
    uint32_t file;
    uint64_t end;
    uint32_t lines;
    uint8_t how;
    uint64_t head; /**< of file, shifting layout; else 0 */
};

struct fact_quarantine {
    uint32_t stream;
    uint32_t sequence;
    unsigned char id[16];
    uint32_t file;
    uint64_t begin, end;
    uint32_t lines;
    int32_t status;   /**< HTTP status; 0 = never sent (a local reason) */
    char reason[201]; /**< first bytes of the answer, or the local reason */
};

/** Names a quarantined range. */
struct fact_released {
    uint32_t stream;
    uint32_t file;
    uint64_t begin;
    uint8_t stored; /**< 1: the backend has it now; 0: it is given up */
};

/** For FACT_DONE and FACT_FORGET. */
struct fact_session {
    char path[FACTS_PATH_MAX];
};

/* Each appends one record. \return the ticket, 0 on failure. */
uint64_t fact_append_stream(struct journal *journal, const struct fact_stream *fact);
uint64_t fact_append_offer(struct journal *journal, const struct fact_offer *fact);
uint64_t fact_append_settled(struct journal *journal, const struct fact_settled *fact);
uint64_t fact_append_quarantine(struct journal *journal,
                                const struct fact_quarantine *fact);
uint64_t fact_append_released(struct journal *journal, const struct fact_released *fact);
uint64_t fact_append_session(struct journal *journal, enum fact_type type,
                             const char *path);

/* Each reads one record. \return false when it is not what it says. */
bool fact_read_stream(const struct journal_record *record, struct fact_stream *out);
bool fact_read_offer(const struct journal_record *record, struct fact_offer *out);
bool fact_read_settled(const struct journal_record *record, struct fact_settled *out);
bool fact_read_quarantine(const struct journal_record *record,
                          struct fact_quarantine *out);
bool fact_read_released(const struct journal_record *record, struct fact_released *out);
bool fact_read_session(const struct journal_record *record, struct fact_session *out);

#endif
