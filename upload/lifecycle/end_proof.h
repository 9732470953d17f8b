/* SPDX-License-Identifier: Apache-2.0 */
/* Compares an end that the backend told with the bytes on disk: only those count. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_END_PROOF_H
#define GPUFL_UPLOAD_LIFECYCLE_END_PROOF_H

#include <stdbool.h>

#include "upload/core/stream.h"
#include "upload/http/reply_positions.h"
#include "upload/source/file_mark.h"

enum proof_result {
    PROOF_NONE,    /**< there is nothing to be compared: it has to be asked for */
    PROOF_GOES_ON, /**< more is to be read */
    PROOF_EQUAL,   /**< the stream is settled there now */
    PROOF_WAITS,   /**< the journal cannot be written now */
    PROOF_OTHER,   /**< the backend has other bytes */
    PROOF_SHORTER, /**< the own file ends before it */
    PROOF_GONE,    /**< its file is not there, and nothing else proves it */
    PROOF_FAILED,  /**< a file cannot be read */
    PROOF_AWAY,    /**< the session's directory is not in its place: from the beginning */
};

/** Notes what is to be compared, in place of what was. \return false without memory. */
bool end_proof_begin(struct stream *stream, const struct reply_end *end);

/** \return false if nothing is to be compared; otherwise \p out is what was told. */
bool end_proof_told(const struct stream *stream, struct reply_end *out);

/** Where own bytes ended before what was told. */
struct proof_short {
    uint32_t file;
    uint64_t size;
    struct reply_end line; /**< behind its last line */
    bool file_only;        /**< line.at.crc is not known, but line.file_crc */
};

/** After PROOF_SHORTER. \return false if that is not so any more. */
bool end_proof_short(const struct stream *stream, struct proof_short *out);

/** A checksum over a file of a stream's own. */
struct proof_run {
    uint32_t file;
    uint64_t offset; /**< as far as it got */
    uint32_t crc;
};

/** Runs it on to the offset \p to, at most a batch's size at a time. \return PROOF_EQUAL
 * when it is there, PROOF_GOES_ON, or why it cannot. */
enum proof_result end_proof_run(struct stream *stream, struct proof_run *run,
                                uint64_t to);

/** Compares the file of the stream's own end with its checksum, at most a batch's size of
 * it. \return PROOF_EQUAL, which the stream keeps until it moves or the end is claimed;
 * PROOF_GOES_ON; what is wrong. */
enum proof_result end_proof_check(struct stream *stream);

/** Runs a checksum over the file that the stream jumps to, up to \p to, at most a batch's
 * size at a time; \p out: as far as it got. \return PROOF_EQUAL, PROOF_GOES_ON, or why it
 * cannot. */
enum proof_result end_proof_jump(struct stream *stream, uint64_t to,
                                 struct file_run *out);

/** Notes that nothing is to be compared. */
void end_proof_drop(struct stream *stream);

/** Compares at most a batch's size. \return what is known now: until it goes on, the same
 * again. */
enum proof_result end_proof_step(struct stream *stream);

#endif
