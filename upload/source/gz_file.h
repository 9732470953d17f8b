/* SPDX-License-Identifier: Apache-2.0 */
/* Goes over whole files in steps: checks, measures, compares and compresses them. Memory
 * does not grow with their size. */
#ifndef GPUFL_UPLOAD_SOURCE_GZ_FILE_H
#define GPUFL_UPLOAD_SOURCE_GZ_FILE_H

#include <stddef.h>
#include <stdint.h>

#include <gpufl/status.h>

#include "base/sys.h"

enum gz_task {
    GZ_CHECK,    /**< decodes a file (RFC 1952, one member or several); GPUFL_ERR_FORMAT
                    when it is empty, cut or damaged */
    GZ_MEASURE,  /**< size and checksum of a file as it is */
    GZ_COMPARE,  /**< what two sound files hold; GPUFL_ERR_FORMAT when they differ */
    GZ_COMPRESS, /**< writes the first file into the second as one member, and syncs it */
};

struct gz_file;

/** Begins; NULL without memory. End with gz_file_close. */
struct gz_file *gz_file_open(enum gz_task task);

/** Goes on until *budget bytes, which are taken from it, were read or decoded; the last
 * chunk may be a little more. \p fd and \p other are the same files each time; some tasks
 * have no \p other. \return GPUFL_OK at the end; GPUFL_BUSY if there is more;
 * GPUFL_ERR_FORMAT, GPUFL_ERR_IO. */
GPUFL_MUST gpufl_status gz_file_step(struct gz_file *file, const struct sys *sys, int fd,
                                     int other, size_t *budget);

/** What GZ_MEASURE found. */
struct gz_measure {
    uint64_t bytes;
    uint32_t crc;
};
struct gz_measure gz_file_measure(const struct gz_file *file);

void gz_file_close(struct gz_file *file);

/** \return the bytes in the gzip file \p fd of size \p packed, as its end says: modulo
 * 2^32, and of its last member. */
uint64_t gz_file_says_bytes(const struct sys *sys, int fd, uint64_t packed);

#endif
