/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what an origin says of the ends of streams. Nothing of it is believed that the
 * sender's own bytes do not prove. */
#ifndef GPUFL_UPLOAD_HTTP_REPLY_POSITIONS_H
#define GPUFL_UPLOAD_HTTP_REPLY_POSITIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/layout.h"
#include "schema/stream_place.h"

/** More channels than any session has that we follow. */
#define REPLY_STREAMS_MAX 64u

/** Where a stream ends at the origin. */
struct reply_end {
    struct stream_place at;
    uint32_t file_crc; /**< of the bytes [0, offset) of the file */
    uint32_t losses;   /**< ranges that were declared lost */
    uint32_t skips;    /**< ranges that cannot be stored, and were not sent */
    bool lost_after;   /**< what follows was declared lost */
    bool expired;      /**< retention has deleted the bytes */
};

/** The answer to the question for the end of a line. */
struct reply_place {
    enum { PLACE_UNREADABLE, PLACE_TOLD, PLACE_NOTHING, PLACE_EXPIRED } what;
    uint64_t epoch;
    uint64_t database;
    struct reply_end end; /**< of the last line that ends at or before what was asked */
};

enum part_verdict {
    PART_UNREADABLE, /**< the answer is none */
    PART_STORED,
    PART_KNOWN,
    PART_CONFLICT,
    PART_COMPLETE,
    PART_EXPIRED,
    PART_WITHOUT_POSITIONS,
    PART_DAMAGED,
    PART_REFUSED, /**< a line cannot be stored */
    PART_FULL,
};

/** The answer to a request of one part. */
struct reply_part {
    enum part_verdict verdict;
    uint64_t epoch;
    uint64_t database;
    struct reply_end end;
    uint32_t owner; /**< with PART_COMPLETE: whose directory the session was complete
                       from, uid plus one; 0 = not told */
    char why[64];   /**< with PART_REFUSED: what is wrong with the first such line */
};

/** A stream of a session at the origin. */
struct reply_stream {
    char channel[LAYOUT_CHANNEL_MAX + 1];
    bool without_positions;
    struct reply_end end;
};

/** All streams of a session at the origin. */
struct reply_streams {
    bool readable;
    bool open;    /**< nobody has said that the session is complete */
    bool ended;   /**< somebody has, but lines of it are missing */
    bool expired; /**< retention has deleted the session, which is all that is told */
    uint64_t epoch;
    uint64_t database;
    uint32_t owner; /**< with the refusal of a claim that would change the session: whose
                       it is, uid plus one; 0 = not told */
    unsigned count;
    struct reply_stream stream[REPLY_STREAMS_MAX];
};

/** Reads the answer 200 to a request of one part. */
void reply_read_part(const char *body, size_t len, struct reply_part *out);

/** Reads the streams of a session: what was asked for, or the refusal of a claim. */
void reply_read_streams(const char *body, size_t len, struct reply_streams *out);

/** Reads the answer \p status to the question for the streams of a session. */
void reply_read_ends(int status, const char *body, size_t len, struct reply_streams *out);

/** Reads the answer \p status to the question for the end of a line. */
void reply_read_place(int status, const char *body, size_t len, struct reply_place *out);

/** \return true if the answer is that retention has deleted the session: 410 of another
 * server, such as a gateway, says nothing. */
bool reply_says_expired(int status, const char *body, size_t len);

/** \return the stream of \p channel, or NULL. */
const struct reply_stream *reply_stream_of(const struct reply_streams *streams,
                                           const char *channel);

/** Reads whether nothing is missing. \return false if the answer to a claim does not say
 * it. */
bool reply_says_complete(const char *body, size_t len, bool *complete);

#endif
