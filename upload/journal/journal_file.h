/* SPDX-License-Identifier: Apache-2.0 */
/* A file that only grows, with its space taken ahead. */
#ifndef GPUFL_UPLOAD_JOURNAL_JOURNAL_FILE_H
#define GPUFL_UPLOAD_JOURNAL_JOURNAL_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/sys.h"

/** Opened by whoever owns it; fd -1 = none. */
struct journal_file {
    int fd;
    uint64_t at;       /* where the next record goes */
    uint64_t reserved; /* bytes allocated */
};

/** Appends; does nothing without a file. \return 0, or -1 with errno: then nothing counts
 * as appended. */
int journal_file_append(const struct sys *sys, struct journal_file *file,
                        const void *data, size_t len);

/** Closes it, if there is one. */
void journal_file_close(struct journal_file *file);

#endif
