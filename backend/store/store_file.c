/* SPDX-License-Identifier: Apache-2.0 */
/* Compares device and inode: a file keeps them while it is open, and no other has both.
 */
#include "backend/store/store_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool store_file_note(struct store_file *file, const char *path, int fd)
{
    struct stat st;
    *file = (struct store_file){0};
    if ((fd < 0 ? stat(path, &st) : fstat(fd, &st)) < 0) {
        return true;
    }
    file->path = strdup(path);
    file->device = st.st_dev;
    file->inode = st.st_ino;
    return file->path != NULL;
}

bool store_file_is_there(const struct store_file *file)
{
    struct stat st;
    return !file->path || (stat(file->path, &st) == 0 && st.st_dev == file->device &&
                           st.st_ino == file->inode);
}

void store_file_fini(struct store_file *file)
{
    free(file->path);
    *file = (struct store_file){0};
}
