/* SPDX-License-Identifier: Apache-2.0 */
/* Channels of a session of which a file should be there and is not. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_MISSING_H
#define GPUFL_UPLOAD_LIFECYCLE_MISSING_H

#include "upload/core/held.h"
#include "upload/core/stream.h"

/** \return why what is read may not be all, or HELD_NOT. Its writer is gone, and the
 * active file is not what it left: another program has replaced it, and what was written
 * afterwards went into a file without a name. In a file that ends in the shutdown, the
 * writer had looked for that. Or the directory is a copy, and its writer wrote on in
 * another one, unless all is there up to the shutdown. */
enum held_reason missing_end(const struct stream *stream);

/** \return as missing_end(), if a person says that the writer of a copy is gone. */
enum held_reason missing_end_said(const struct stream *stream);

/** \return true if its active file was cut below what was sent of it, and its writer,
 * which is gone, had written more than that: the backend has not got the rest. */
bool missing_behind_cut(const struct stream *stream);

/** Where a stream of the layout of 1.1 is: rotation raises all numbers together, so any
 * number tells which file in time has it. */
struct missing_late {
    const struct scan_numbers *rotated; /**< the numbers that are there */
    uint32_t stream;                    /**< its number in the journal */
    uint32_t file;                      /**< where it is … */
    uint32_t index;                     /**< … which is the number of that file now */
};

struct missing_late missing_late_of(const struct stream *stream, uint32_t index);

/** \return true if a file came late: it is older than the first that was found, or one
 * that was gone when those about it were read. */
bool missing_any_late(const struct root *root, const struct missing_late *late);

/** A person gave up those that came late: they are not missed any more. The number of the
 * file at \p index, where \p stream is, was \p raised, so that none is 0. */
void missing_late_given_up(const struct stream *stream, uint32_t index, uint32_t raised);

/** Notes, and says, that the channel does not begin with its first record. */
void missing_first(struct stream *stream);

/** Holds each channel of which \p scan does not show what was sent of it, or what its
 * manifest lists. */
void missing_channels(struct session *session, const struct scan *scan);

/** All of \p session is settled, and its writer is gone: holds what ends too early. With
 * gz_cache.busy, that is not known yet. */
void missing_at_end(struct session *session);

/** Takes the writer of \p session for gone, by what its files show, and asks again: it
 * should have left more than one that may live. */
void missing_ended(struct session *session, const struct scan *scan);

/** \return true if its writer tells that lines of that file are lost. */
bool missing_told_in(const struct stream *stream, uint32_t file);

#endif
