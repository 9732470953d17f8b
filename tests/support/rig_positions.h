/* SPDX-License-Identifier: Apache-2.0 */
/* The positions of a rig's backend, by the rules of schema/README.md: one end a stream,
 * which one comparison moves. What it does to a part it does in memory, so a test may
 * copy all of it and put it back. */
#ifndef GPUFL_TESTS_RIG_POSITIONS_H
#define GPUFL_TESTS_RIG_POSITIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/store/store_streams.h"
#include "base/text.h"

#define RIG_STREAMS_MAX 256

/** A part that is stored. */
struct rig_part {
    struct stored_end from, to;
    size_t at, len; /**< of raw */
};

/** A stream, and what is stored of it. */
struct rig_stream {
    char session[LAYOUT_NAME_MAX + 1];
    char channel[LAYOUT_CHANNEL_MAX + 1];
    bool windowed; /**< stored without positions */
    struct stored_end end;
    char *raw;
    size_t len;
    struct rig_part *part;
    unsigned parts;
};

struct rig_ended {
    char session[LAYOUT_NAME_MAX + 1];
    int state;      /**< 0 open, 1 complete, 2 ended */
    uint32_t owner; /**< as the first claim told, uid plus one */
};

struct rig_positions {
    bool declared;
    const char *database; /**< its name with a dot, before the epoch; NULL = none */
    unsigned epoch;
    struct rig_stream stream[RIG_STREAMS_MAX];
    unsigned streams;
    struct rig_ended session[RIG_STREAMS_MAX];
    unsigned sessions;
    /** \return true if a line may not be stored; NULL = all may. */
    bool (*poison)(const char *raw, size_t len);
};

/** \return the stream, made if need be. */
struct rig_stream *rig_positions_stream(struct rig_positions *p, const char *session,
                                        const char *channel);

/** Answers a request: the decoded body, and where the answer goes. \return the status. */
int rig_positions_parts(struct rig_positions *p, const char *raw, size_t len,
                        struct text *answer);
int rig_positions_ends(struct rig_positions *p, const char *session, struct text *answer);
int rig_positions_place(struct rig_positions *p, const char *session, const char *channel,
                        const struct stream_place *asked, struct text *answer);
int rig_positions_claim(struct rig_positions *p, const char *session, const char *body,
                        size_t len, struct text *answer);

/** 0 = open, 1 = complete, 2 = ended. */
int rig_positions_state(const struct rig_positions *p, const char *session);

/** \return what claims told of the session, which a test may change. */
struct rig_ended *rig_positions_session(struct rig_positions *p, const char *session);

/** Copies all that is stored, into what was zeroed or copied to before. */
void rig_positions_copy(struct rig_positions *to, const struct rig_positions *from);
void rig_positions_fini(struct rig_positions *p);

#endif
