/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the files of the database are where they were opened. Who removes or replaces
 * them under a running server leaves it with files that nobody can open again. */
#ifndef GPUFL_BACKEND_STORE_STORE_FILE_H
#define GPUFL_BACKEND_STORE_STORE_FILE_H

#include <stdbool.h>
#include <sys/types.h>

/** A name, and the file that it stood for when it was opened. */
struct store_file {
    char *path; /**< owned; NULL = there is none to look for */
    dev_t device;
    ino_t inode;
};

/** Notes that \p path was opened as \p fd; -1 = as what it names now, if that is there.
 * \return false without memory. */
bool store_file_note(struct store_file *file, const char *path, int fd);

/** True while the path names that file. */
bool store_file_is_there(const struct store_file *file);

void store_file_fini(struct store_file *file);

#endif
