/* SPDX-License-Identifier: Apache-2.0 */
/* A position in a channel: which file of which session, and how far into it. */
#ifndef GPUFL_UPLOAD_SOURCE_TAIL_WHERE_H
#define GPUFL_UPLOAD_SOURCE_TAIL_WHERE_H

#include <stdbool.h>
#include <stdint.h>

#include "upload/source/gz_cache.h"
#include "upload/source/scan.h"

/** Where to read. */
struct tail_where {
    int root;         /**< the watched root's descriptor */
    const char *path; /**< the session's directory beneath it */
    const char *channel;
    enum session_layout layout;
    bool sealed_only; /**< a later file exists: this one cannot be the active one */
    uint32_t file;    /**< number of the file: sealed, or the active one */
    uint64_t offset;  /**< uncompressed bytes into it */
    /* Of the shifting layout: */
    uint64_t head;  /**< which identifies the file, see shifting.h */
    uint32_t index; /**< its number when it was last seen, 0 = active */
    struct gz_cache
        *cache; /**< NULL = none: each read starts at the beginning of a gzip file */
};

#endif
