/* SPDX-License-Identifier: Apache-2.0 */
/* Lists a directory in pieces, without allocating. */
#ifndef GPUFL_UPLOAD_SOURCE_LISTING_H
#define GPUFL_UPLOAD_SOURCE_LISTING_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>

#include <gpufl/status.h>

#include "base/sys.h"

/** A directory that is being listed. readdir(3) would cost three more system calls and
 * 32 KiB each time a session is inspected. */
struct listing {
    int fd;
    int error; /**< errno of a failed read, 0 = none */
    size_t at;
    size_t len;
    _Alignas(8) char buffer[16384];
};

/** Begins to list `<root>/<path>` ("." = the root itself).
 *  \return GPUFL_OK, then the caller calls listing_close; GPUFL_ERR_NOT_FOUND;
 *  GPUFL_ERR_IO. */
GPUFL_MUST gpufl_status listing_open(struct listing *listing, const struct sys *sys,
                                     int root, const char *path);

/** Begins to list the open directory \p fd; the caller closes that. */
void listing_of(struct listing *listing, int fd);

/** The next entry of any kind; NULL at the end or after an error. */
const struct dirent64 *listing_next(struct listing *listing);

/** Begins again with the first entry. */
void listing_rewind(struct listing *listing);

/** \return true if it may be a directory, and its name can be a session id. */
bool listing_is_dir(const struct dirent64 *entry);

/** The next subdirectory whose name can be a session id, in no order; NULL at the end or
 * after an error: then what was not named may exist all the same. */
const char *listing_next_dir(struct listing *listing);

/** Calls \p visit for each subdirectory of `<root>/<path>`.
 *  \return GPUFL_OK; GPUFL_ERR_NOT_FOUND; GPUFL_ERR_IO. */
GPUFL_MUST gpufl_status listing_each_dir(const struct sys *sys, int root,
                                         const char *path,
                                         void (*visit)(void *arg, const char *name),
                                         void *arg);

void listing_close(struct listing *listing);

/** Closes and frees one that is in memory of its own, NULL = none. */
void listing_delete(struct listing *listing);

#endif
