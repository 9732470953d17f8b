/* SPDX-License-Identifier: Apache-2.0 */
/* Lists a directory by getdents64(2). */
#include "upload/source/listing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "schema/layout.h"

void listing_of(struct listing *listing, int fd)
{
    listing->at = listing->len = 0;
    listing->error = 0;
    listing->fd = fd;
}

gpufl_status listing_open(struct listing *listing, const struct sys *sys, int root,
                          const char *path)
{
    listing_of(listing, sys->open_beneath(root, path, O_RDONLY | O_DIRECTORY, 0));
    if (listing->fd >= 0) {
        return GPUFL_OK;
    }
    return errno == ENOENT || errno == ENOTDIR ? GPUFL_ERR_NOT_FOUND : GPUFL_ERR_IO;
}

const struct dirent64 *listing_next(struct listing *listing)
{
    if (listing->at == listing->len) {
        ssize_t n = getdents64(listing->fd, listing->buffer, sizeof listing->buffer);
        listing->error = n < 0 ? errno : listing->error;
        listing->at = 0;
        listing->len = n > 0 ? (size_t)n : 0;
        if (n <= 0) {
            return NULL;
        }
    }
    const struct dirent64 *entry =
        (const struct dirent64 *)(void *)(listing->buffer + listing->at);
    listing->at += entry->d_reclen;
    return entry;
}

void listing_rewind(struct listing *listing)
{
    listing->at = listing->len = 0;
    listing->error = lseek(listing->fd, 0, SEEK_SET) < 0 ? errno : listing->error;
}

bool listing_is_dir(const struct dirent64 *entry)
{
    bool maybe_dir = entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;
    return maybe_dir && layout_name_ok(entry->d_name);
}

const char *listing_next_dir(struct listing *listing)
{
    for (const struct dirent64 *entry; (entry = listing_next(listing));) {
        if (listing_is_dir(entry)) {
            return entry->d_name;
        }
    }
    return NULL;
}

gpufl_status listing_each_dir(const struct sys *sys, int root, const char *path,
                              void (*visit)(void *arg, const char *name), void *arg)
{
    struct listing listing;
    gpufl_status status = listing_open(&listing, sys, root, path);
    if (status != GPUFL_OK) {
        return status;
    }
    for (const char *name; (name = listing_next_dir(&listing));) {
        visit(arg, name);
    }
    listing_close(&listing);
    errno = listing.error;
    return listing.error ? GPUFL_ERR_IO : GPUFL_OK;
}

void listing_close(struct listing *listing)
{
    close(listing->fd);
    listing->fd = -1;
}

void listing_delete(struct listing *listing)
{
    if (listing) {
        listing_close(listing);
        free(listing);
    }
}
