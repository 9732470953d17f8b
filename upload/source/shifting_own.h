/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the file of the 1.1 layout in which a stream ends at the backend. Numbers in the
 * directory shift, so the bytes tell: it is the file whose first ones have the checksum
 * of the end; if several have, the one up to which all files in order have that of the
 * stream. Files are read from the oldest to the newest, a part at a time. */
#ifndef GPUFL_UPLOAD_SOURCE_SHIFTING_OWN_H
#define GPUFL_UPLOAD_SOURCE_SHIFTING_OWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "upload/source/shifting.h"

/** A place in the files, as a walk through them comes to it. */
struct shifting_walk {
    struct shifting_place at; /**< its file */
    uint32_t file;            /**< the oldest one is 1; 0 = not begun */
    struct file_run run;      /**< up to here, in all files in order */
};

/** What is looked for. */
struct shifting_wanted {
    uint32_t file; /**< its number at the backend */
    uint64_t offset;
    uint32_t crc;
    uint32_t file_crc;
    bool in_order; /**< nothing was lost: all bytes in order have `crc` */
    bool on;       /**< the walk begins where the stream was settled: only `crc` counts */
};

/** A search under way: `wanted` is set, and `walk` where it begins elsewhere than at the
 * oldest file; all else is 0. */
struct shifting_own {
    struct shifting_wanted wanted;
    struct shifting_walk walk;
    struct shifting_walk found; /**< of a file whose first bytes have `file_crc` */
    unsigned alike;             /**< of so many */
    unsigned tries;
    uint64_t stamp; /**< the caller's */
    bool begins;    /**< the oldest file is the channel's first */
    bool compared;  /**< the file of `walk` */
    bool broken;    /**< a file could not be read to its end: `crc` says nothing */
    uint64_t read;  /**< bytes in this step */
};

enum shifting_owned {
    SHIFTING_OWN_GOES_ON,
    SHIFTING_OWN_FOUND,   /**< it is `found` */
    SHIFTING_OWN_SEVERAL, /**< nothing tells which of several it is */
    SHIFTING_OWN_NONE,    /**< it is not there; `walk` is where the files end */
    SHIFTING_OWN_FAILED,  /**< a file cannot be read, or they change all the time */
    SHIFTING_OWN_AWAY,    /**< the directory is not in its place */
};

/** Reads at most \p cap bytes into \p buf. \p where names the directory and channel, and
 *  \p highest is the highest number that a scan has just seen. */
enum shifting_owned shifting_own_step(const struct sys *sys,
                                      const struct tail_where *where, uint32_t highest,
                                      char *buf, size_t cap, struct shifting_own *own);

#endif
