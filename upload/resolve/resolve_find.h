/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what keeps a stream from going on, and where it can go on. */
#ifndef GPUFL_UPLOAD_RESOLVE_RESOLVE_FIND_H
#define GPUFL_UPLOAD_RESOLVE_RESOLVE_FIND_H

#include <stdbool.h>

#include "upload/core/held.h"
#include "upload/journal/journal_records.h"

struct stream;

#define RESOLVE_WHY  256
#define RESOLVE_TEXT 2048

/** What became of it. */
struct resolve_result {
    unsigned given_up; /**< channels, and troubles of the whole session */
    unsigned busy;     /**< channels of which a request is under way: to be tried again */
    bool compared;     /**< what the backend has is asked for, and compared with files */
    bool foreign;      /**< the backend had it complete from another user's directory */
    char text[RESOLVE_TEXT]; /**< what was given up, and why, and what follows */
    char why[RESOLVE_WHY];   /**< when nothing was given up: one sentence */
};

/* A stream, what is wrong with it, and where it is to go on. */
struct resolving {
    struct stream *stream;
    struct resolve_result *out;
    enum held_reason reason; /* HELD_NOT = nothing is wrong */
    bool at_end;             /* nothing of it is left to be read */
    bool has_all;            /* what was sent of its file is there */
    bool may_double;         /* what is there may have been sent */
    struct record_settled to;
    uint32_t pass_first; /* the first file that is given up as a whole, 0 = none is … */
    uint32_t pass_last;  /* … and the last one */
    uint32_t index;      /* layout of 1.1: the number of the file where it ends now */
};

/** Fills in the reason and the place. Nothing that can be read is before it, except a
 * file that came too late (HELD_LATE), and nothing that was sent is behind it. */
void resolve_find(struct resolving *r);

/** Once that is given up, notes its files: those that come back, or come late once more,
 * are told by their numbers. \p before is the one at which the stream was. */
void resolve_note_passed(const struct resolving *r, uint32_t before);

#endif
