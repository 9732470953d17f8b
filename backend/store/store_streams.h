/* SPDX-License-Identifier: Apache-2.0 */
/* Where each stream ends, and parts that continue it: schema/README.md, "Positions". */
#ifndef GPUFL_BACKEND_STORE_STORE_STREAMS_H
#define GPUFL_BACKEND_STORE_STORE_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/digest/lines.h"
#include "backend/store/codec.h"
#include "backend/store/store.h"
#include "schema/layout.h"
#include "schema/stream_place.h"

/** The end of a stream as stored. */
struct stored_end {
    struct stream_place at;
    uint32_t file_crc; /**< of the bytes [0, offset) of the file */
    uint64_t losses;   /**< declared ranges whose bytes nobody has */
    uint64_t skips;    /**< ranges that the sender has and did not send */
    bool lost_after;   /**< what follows is gone, a claim said: stays until more comes */
    bool expired;      /**< the bytes were deleted by retention */
};

/** One part of a request: it continues a stream from begin to end. */
struct stream_part {
    char session[LAYOUT_NAME_MAX + 1];
    char channel[LAYOUT_CHANNEL_MAX + 1];
    struct stream_place begin, end;
    struct stream_start start; /**< what lies between begin and here is lost */
    bool skip;                 /**< the bytes are known but not sent */
    bool reopens;              /**< may continue a session that is complete, or was */
    bool added_newline;        /**< the last line has none in its file */
    const char *bytes;         /**< the lines; NULL with skip */
    size_t len;                /**< with the added newline */
    const void *packed;        /**< what the lines decode from, as received; or NULL */
    size_t packed_len;
    enum encoding packed_as;
};

/** What became of a part. */
enum stream_verdict {
    STREAM_STORED,
    STREAM_KNOWN,    /**< the stream ends where the part does */
    STREAM_CONFLICT, /**< the stream ends elsewhere, or with other bytes */
    STREAM_COMPLETE, /**< the session is complete, or its owner is known, and the part
                        does not reopen it */
    STREAM_EXPIRED,  /**< retention deleted the session */
    STREAM_WINDOWS,  /**< the stream began without positions */
};

/** The offset of its first byte, in the file of part->end. */
uint64_t stream_part_from(const struct stream_part *part);

/** Begins, ends and gives up the transaction in which parts are taken. */
GPUFL_MUST gpufl_status store_streams_begin(struct store *store);
GPUFL_MUST gpufl_status store_streams_commit(struct store *store, size_t bytes);
void store_streams_rollback(struct store *store);

/** Stores \p part, whose bytes were found to fit, if the stream ends where it begins.
 * \p lines: of its bytes, NULL with skip. */
GPUFL_MUST gpufl_status store_streams_take(struct store *store,
                                           const struct stream_part *part,
                                           const struct lines *lines,
                                           const char *hostname,
                                           enum stream_verdict *verdict);

/** The end of a stream: (1, 0) when nothing of it is stored. It is expired if any stream
 * of its session is. */
GPUFL_MUST gpufl_status store_streams_end(struct store *store, const char *session,
                                          const char *channel, struct stored_end *out);

/** Visits the ends of the streams of \p session. */
GPUFL_MUST gpufl_status store_streams_visit(struct store *store, const char *session,
                                            void (*visit)(void *arg, const char *channel,
                                                          const struct stored_end *end),
                                            void *arg);

/** Whether a stream is stored without positions. */
GPUFL_MUST gpufl_status store_streams_is_windowed(struct store *store,
                                                  const char *session,
                                                  const char *channel, bool *out);

/** Visits the channels of \p session that are stored without positions. */
GPUFL_MUST gpufl_status store_streams_windows(struct store *store, const char *session,
                                              void (*visit)(void *arg,
                                                            const char *channel),
                                              void *arg);

#endif
