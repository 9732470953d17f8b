/* SPDX-License-Identifier: Apache-2.0 */
/* Which numbers of a channel of the 1.1 layout have a file, and the heads of those: their
 * first lines, by which they are known. */
#ifndef GPUFL_UPLOAD_SOURCE_SHIFTING_NUMBERS_H
#define GPUFL_UPLOAD_SOURCE_SHIFTING_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <gpufl/status.h>

#include "base/sys.h"
#include "upload/source/tail_where.h"

/** Which is the lowest number beyond \p below that the channel has a file of, in either
 * form and of whatever kind, at one moment; 0 = none up to SCAN_SHIFTING_MAX.
 * \return false where that cannot be told: on file systems that may leave out a file that
 * is renamed meanwhile, and in large directories. */
bool shifting_number_beyond(const struct sys *sys, const struct tail_where *where,
                            uint32_t below, uint32_t *number);

/** Opens the file of that number, 0 for the active one, in the form that is there: of
 * two, the plain one, unless it ends before the position, or within its first line.
 * \return -1 with errno ENOENT when neither is there as a regular file. */
int shifting_number_open(const struct sys *sys, const struct tail_where *where,
                         uint32_t number, bool *gz);

/** \return true if the number has a file; also, with \p failed set, if that cannot be
 * told. */
bool shifting_number_is_used(const struct sys *sys, const struct tail_where *where,
                             uint32_t number, bool *failed);
/** \return the highest number that has one, 0 for none; likewise. */
uint32_t shifting_number_highest(const struct sys *sys, const struct tail_where *where,
                                 bool *failed);
/** \return true if one between \p below and \p above has one; likewise. */
bool shifting_number_between(const struct sys *sys, const struct tail_where *where,
                             uint32_t below, uint32_t above, bool *failed);

/** \return how many between \p below and \p above have none. Number 1 does not count
 * where another program gave it to a copy of the active file: it pushed the others up. */
uint32_t shifting_number_free(const struct sys *sys, const struct tail_where *where,
                              uint32_t below, uint32_t above);

/** Longest head of a file, in bytes. */
#define SHIFTING_HEAD_BYTES 512u
/** A writer deletes files with higher numbers. */
#define SHIFTING_DROPPED_BEYOND 100u

/** A file and its present number. */
struct shifting_place {
    uint32_t index;   /**< 0 = active, else its number */
    uint32_t skipped; /**< numbers between it and the file before, which was looked for */
    uint64_t head;
    bool begins; /**< its head has a job_start: it is the first of its channel */
    struct file_known known;
};

/** Hash (FNV-1a) of the first line, of its first 512 bytes at most. 0 = not known yet:
 * the file has neither a whole line nor 512 bytes. */
uint64_t shifting_head(const char *data, size_t len);

/** Reads the first bytes of \p fd, \p gz = a compressed file. \return how many; 0 if it
 * has none, -1 if it cannot be read. */
ssize_t shifting_read_head(const struct sys *sys, const struct tail_where *where, int fd,
                           bool gz, char data[SHIFTING_HEAD_BYTES]);

/** The file at \p index, whichever it is. \return GPUFL_OK; GPUFL_ERR_NOT_FOUND when
 * there is none, or only an active one without a head; GPUFL_ERR_FORMAT when a rotated
 * one has none; GPUFL_ERR_IO. */
GPUFL_MUST gpufl_status shifting_place_at(const struct sys *sys,
                                          const struct tail_where *where, uint32_t index,
                                          struct shifting_place *out);

/** The same of the oldest one, of which `begins` counts: it may have other lines before
 * its job_start, 64 KiB of them. */
GPUFL_MUST gpufl_status shifting_oldest_at(const struct sys *sys,
                                           const struct tail_where *where, uint32_t index,
                                           struct shifting_place *out);

/** \p head is that of \p fd. \return false if it cannot be read. */
bool shifting_head_of(const struct sys *sys, const struct tail_where *where, int fd,
                      bool gz, uint64_t *head);

#endif
