/* SPDX-License-Identifier: Apache-2.0 */
/* A stream: the files of one channel of one session, read in order. */
#ifndef GPUFL_UPLOAD_CORE_STREAM_H
#define GPUFL_UPLOAD_CORE_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "upload/core/queue.h"
#include "upload/core/session.h"
#include "upload/journal/journal_records.h"
#include "upload/source/tail.h"

/** Of `seen` of a live stream: its active file's size stands above these bits. */
#define STREAM_SEEN_SHIFT 9

struct offer;

/** Is something of it left, as far as the last look or read tells? */
enum stream_rest {
    STREAM_PENDING,
    STREAM_DRAINED, /**< nothing that is not settled, or offered */
    STREAM_MISSING, /**< its file had more when last looked at, and is not there */
};

/** What the last offer took of its file. */
enum stream_took {
    STREAM_TOOK_PART,
    STREAM_TOOK_ALL,       /**< all that was there */
    STREAM_TOOK_ALL_SO_FAR /**< and something has happened since */
};

/** Files of one channel of one session, read in order. */
struct stream {
    struct queue_node node; /**< in the ready queue */
    struct session *session;
    struct offer *offer;          /**< the one that is out, or NULL */
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
    bool all_read : 1; /**< all that `seen` stands for was read */
    bool at_shutdown : 1; /**< its next line, or its last, is the channel's shutdown */
    uint8_t rest : 2;     /**< enum stream_rest */
    uint8_t took : 2;     /**< enum stream_took */
};

/** The stream that \p node stands for; NULL for NULL. */
struct stream *stream_of(struct queue_node *node);

const char *stream_channel(const struct stream *stream);

/** Where it is to be read. */
struct tail_where stream_where(const struct stream *stream);

/** It as a record of the journal. */
struct record_stream stream_record(const struct stream *stream);

/** Puts it into the queue of live streams, or the backlog's, from \p due_ms on. Waiting
 * already, it keeps its place and takes the earlier time. */
void stream_enqueue(struct stream *stream, bool live, uint64_t due_ms);

/** Something happened to its files since its offer was made. */
void stream_note_growth(struct stream *stream);

/** This channel waits for a change in the directory; the others go on. */
void stream_hold(struct stream *stream, const char *reason);

/** It waits for a change in the directory, alone or with its session. */
bool stream_held(const struct stream *stream);

/** It waits for a change in the directory, the workspace's limit, or the journal. */
bool stream_waits(const struct stream *stream, uint64_t now_ms);

/** Size of its active file at the last look; 0 where that is not known. */
uint64_t stream_seen_bytes(const struct stream *stream);

/** True when its files are deleted once the backend has stored them. */
bool stream_deletes(const struct stream *stream);

/** Counts \p lines that the backend has taken. */
void stream_count_acked(const struct stream *stream, uint32_t lines, uint64_t now_ms);

#endif
