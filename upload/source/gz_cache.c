/* SPDX-License-Identifier: Apache-2.0 */
/* Reads gzip files through a few open handles, the least recently used replaced first. */
#include "upload/source/gz_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static void close_slot(struct gz_cache *cache, unsigned at)
{
    if (cache->slot[at].file) {
        gzclose_r(cache->slot[at].file);
        cache->slot[at].file = NULL;
    }
}

static gzFile open_copy(int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    gzFile file = copy >= 0 && lseek(copy, 0, SEEK_SET) == 0 ? gzdopen(copy, "rb") : NULL;
    if (!file && copy >= 0) {
        close(copy);
    }
    return file;
}

/* The slot that has this file open, else the least recently used one, opened for it. */
static int gz_slot_of(struct gz_cache *cache, int fd)
{
    struct stat st;
    unsigned oldest = 0;
    if (fstat(fd, &st) < 0) {
        return -1;
    }
    for (unsigned i = 0; i < GZ_CACHE_SLOTS; i++) {
        if (cache->slot[i].file && cache->slot[i].device == st.st_dev &&
            cache->slot[i].inode == st.st_ino) {
            return (int)i;
        }
        if (cache->slot[i].used < cache->slot[oldest].used) {
            oldest = i;
        }
    }
    close_slot(cache, oldest);
    cache->slot[oldest].file = open_copy(fd);
    cache->slot[oldest].device = st.st_dev;
    cache->slot[oldest].inode = st.st_ino;
    return cache->slot[oldest].file ? (int)oldest : -1;
}

/* zlib ends a file that is cut off as if it were whole. */
static bool gz_is_cut(gzFile file)
{
    int error = Z_OK;
    gzerror(file, &error);
    return error != Z_OK && error != Z_STREAM_END;
}

gpufl_status gz_cache_read(struct gz_cache *cache, int fd, uint64_t offset, char *buf,
                           size_t cap, size_t *len)
{
    int at = gz_slot_of(cache, fd);
    *len = 0;
    if (at < 0) {
        return GPUFL_ERR_IO;
    }
    gzFile file = cache->slot[at].file;
    cache->slot[at].used = ++cache->clock;
    int n = gzseek(file, (z_off_t)offset, SEEK_SET) == (z_off_t)offset
                ? gzread(file, buf, (unsigned)cap)
                : -1;
    cache->plain = gzdirect(file);
    *len = n > 0 ? (size_t)n : 0;
    if (n < 0 || ((size_t)n < cap && gz_is_cut(file))) {
        close_slot(cache, (unsigned)at);
        return GPUFL_ERR_FORMAT;
    }
    return GPUFL_OK;
}

void gz_cache_close(struct gz_cache *cache)
{
    for (unsigned i = 0; i < GZ_CACHE_SLOTS; i++) {
        close_slot(cache, i);
    }
}
