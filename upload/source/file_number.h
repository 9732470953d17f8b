/* SPDX-License-Identifier: Apache-2.0 */
/* Which numbers the files of a channel have. */
#ifndef GPUFL_UPLOAD_SOURCE_FILE_NUMBER_H
#define GPUFL_UPLOAD_SOURCE_FILE_NUMBER_H

#include "upload/source/scan.h"

/** \return the number of the file of \p channel that its writer was about to begin after
 * it had sealed the one before; 0 = none, as far as the names show. */
uint32_t file_number_unbegun(const struct scan *scan, const char *channel);

/** The files of one channel. */
struct scan_files_of {
    const struct sys *sys;
    int root;
    const char *path;
    const char *channel;
    bool windows; /**< sidecars and payloads, else files alone */
    bool (*accepts)(const void *arg, uint32_t number); /**< NULL = any number */
    const void *arg;                                   /**< for it */
};

/** Finds the lowest number above \p above that is accepted. \return it; 0 = there is
 * none. */
uint32_t file_number_next(const struct scan_files_of *of, uint32_t above);

/** Finds the \p cap lowest numbers of files above \p above, in order. \return how many
 * there are. */
unsigned file_number_some(const struct scan_files_of *of, uint32_t above, uint32_t *some,
                          unsigned cap);

#endif
