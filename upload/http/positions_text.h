/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what a sender says of positions: parts and claims. */
#ifndef GPUFL_UPLOAD_HTTP_POSITIONS_TEXT_H
#define GPUFL_UPLOAD_HTTP_POSITIONS_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "schema/stream_place.h"

/** The longest line that positions_text_part writes. */
#define POSITIONS_LINE_MAX 1024u

/** One part of a request, without its bytes. */
struct part_said {
    const char *session;
    const char *channel;
    struct stream_place begin, end;
    struct stream_start start;
    bool skip;          /**< its bytes are not sent */
    bool reopens;       /**< it may continue a session that is complete */
    bool added_newline; /**< the last newline is not in the file */
};

/** Writes the line of a request that has only \p part. \return its length; 0 if it does
 * not fit. */
size_t positions_text_part(char out[POSITIONS_LINE_MAX], const struct part_said *part);

struct text;

/** Appends the end of a channel to the list of a claim; \p first is the first. */
void positions_text_claim(struct text *text, bool first, const char *channel,
                          const struct stream_place *end, bool lost_after);

#endif
