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

/** Of more files than that, the others are as if they were not there. */
#define FILE_NUMBERS_MAX 4096u

/** The lowest numbers of files above \p above, in order. All but the first two members
 * are zero at first. */
struct file_numbers {
    uint32_t above;
    uint32_t most;
    bool over; /**< the directory was listed to its end, or cannot be */
    int64_t next_entry;
    unsigned count;
    uint32_t number[FILE_NUMBERS_MAX];
};

/** Lists \p names more names of the directory. */
void file_numbers_list(const struct scan_files_of *of, struct file_numbers *some,
                       unsigned names);

#endif
