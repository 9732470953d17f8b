/* SPDX-License-Identifier: Apache-2.0 */
/* The newest sealed file or window of a stream, as the journal has it, so that one that
 * disappeared is missed. It numbers the active file of a live stream. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_SEALED_FILE_H
#define GPUFL_UPLOAD_LIFECYCLE_SEALED_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "upload/core/stream.h"

/* While the engine's gz_cache is busy, none of these is known: what they return says
 * nothing, and they are asked again in a later turn. */

/** Notes the newest sealed file that a scan has seen, \p highest. \return the number of
 * the newest one there was, which is higher if that file has disappeared since; not if
 * its writer took the seal back. */
uint32_t sealed_file_note(struct stream *stream, uint32_t highest);

/** All of the stream's file, a sealed one, was sent: it is noted as it was then. In the
 * live layout, its writer may have taken the seal back since it was seen. */
void sealed_file_sent(struct stream *stream);

/** The uploader has deleted its files up to \p number, which were sent, but for those
 * that it kept because of a range in quarantine. */
void sealed_file_deleted(struct stream *stream, uint32_t number);

/** \return true if a sealed file of that number can be opened. */
bool sealed_file_is_there(const struct stream *stream, uint32_t number);

/** The backend has the stream up to a place in \p file. If a later file that was kept is
 * gone, somebody else took it: none from there on counts as deleted by the uploader. */
void sealed_file_told(struct stream *stream, uint32_t file);

/** Finds the stream's file, whose number was not known, among the sealed ones, by what
 * was sent of it. \return false if it is not there. */
bool sealed_file_find(struct stream *stream);

/** Finds the plain file after \p where that holds what was sent up to there: the number
 * of that one was not known when it was sent. \return its number; 0 = there is none. */
uint32_t sealed_file_after(struct stream *stream, const struct tail_where *where);

/** \return true if the file that the position names came after a later one had been sent
 * under its number: it cannot be sent in its place any more. */
bool sealed_file_is_late(struct stream *stream);

/** The stream jumps to a place in its file. \return how much of that is to be read
 * before. If it is its first byte, and the file of the stream's end is gone, it may be
 * that one, sent as an earlier one when nothing told its number: as much as was sent of
 * it. */
uint64_t sealed_file_jump_to(const struct stream *stream);

/** As much was read, or all there is. If that was sent, the stream goes on behind it. */
void sealed_file_jumped(struct stream *stream, const struct file_run *run);

/** Whether the files of a live stream are an earlier copy, of which all was sent. */
enum sealed_copy {
    SEALED_COPY_NOT,
    SEALED_COPY_MAYBE, /**< nothing tells */
    SEALED_COPY,
};

/** \return what its writer noted, else what the journal knows of the newest sealed file.
 */
enum sealed_copy sealed_file_copy(const struct stream *stream);

/** \return HELD_EARLIER instead of HELD_OTHER or HELD_MISSING, if the directory may be an
 * earlier copy: the rest of it would be sent again. */
enum held_reason sealed_file_or_copy(const struct stream *stream,
                                     enum held_reason reason);

#endif
