/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the backend for ends of lines, to find up to where it has what own files hold: the
 * end that it told is not among them. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_END_PARTING_H
#define GPUFL_UPLOAD_LIFECYCLE_END_PARTING_H

#include <stdbool.h>

#include "upload/core/stream.h"
#include "upload/http/reply_positions.h"

struct end_parting;

enum parting_result {
    PARTING_NONE,    /**< nothing is looked for */
    PARTING_ASKS,    /**< the place is to be asked for */
    PARTING_GOES_ON, /**< more is to be read */
    PARTING_CUT,     /**< own files end where the backend goes on: settled */
    PARTING_PASSES,  /**< likewise in a sealed file: the next one follows */
    PARTING_THERE,   /**< the stream goes on where the bytes part: settled */
    PARTING_WAITS,   /**< the journal cannot be written now */
    PARTING_TURN,    /**< another stream is served */
    PARTING_OTHER,   /**< the bytes are others; nobody said to go on where they part */
    PARTING_LONGER,  /**< own files end before, and may grow, or nobody said so */
    PARTING_EARLIER, /**< the backend has all of own files, and more: nobody said that
                        this is all there is */
    PARTING_GONE,    /**< the file of the end is not there */
    PARTING_FAILED,  /**< a file cannot be read */
    PARTING_AWAY,    /**< the session's directory is not in its place */
};

/** The comparison with the told end found other bytes, or (\p shorter) that own files end
 * before it. \return what follows from that. */
enum parting_result end_parting_begin(struct stream *stream, bool shorter);

/** Does one step. With PARTING_ASKS, \p place is what to ask for. */
enum parting_result end_parting_step(struct stream *stream, struct stream_place *place);

/** The place is being asked for. */
void end_parting_asked(struct stream *stream);

/** \return the stream of \p session for which a place is being asked for, or NULL. */
struct stream *end_parting_asks(const struct session *session);

/** What was answered; PLACE_UNREADABLE: it is asked for again. */
void end_parting_told(struct stream *stream, const struct reply_place *told);

/** Stops looking. */
void end_parting_drop(struct stream *stream);

/** A person said to go on behind the end that was told, although nothing proves it:
 * settles it. What follows in its file is lost if that cannot be read. \return false if
 * the journal cannot be written now. */
bool end_parting_believe(struct stream *stream);

#endif
