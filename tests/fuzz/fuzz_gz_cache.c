/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed files of any bytes, read at any places in any order: as from their start. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "upload/source/gz_cache.h"

#define READS    8u
#define READ_CAP 65536u

/* What one read yields, whatever was read before. */
static gpufl_status read_fresh(int fd, uint64_t offset, char *buf, size_t cap,
                               size_t *len)
{
    struct gz_cache once = {0};
    gpufl_status status = gz_cache_read(&once, fd, offset, buf, cap, len);
    gz_cache_close(&once);
    return status;
}

/* The first bytes say what is read, the others are the file. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char buf[READ_CAP];
    static char fresh[READ_CAP];
    struct gz_cache cache = {0};
    const size_t head = (size_t)4 * READS;
    if (size < head || size > 4096) {
        return 0;
    }
    int fd = memfd_create("gz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data + head, size - head) != (ssize_t)(size - head)) {
        __builtin_trap();
    }
    for (unsigned i = 0; i < READS; i++) {
        const uint8_t *r = data + (size_t)4 * i;
        uint64_t offset = r[0] | (uint64_t)r[1] << 8;
        size_t cap = r[2] | (size_t)r[3] << 8;
        size_t len;
        size_t want;
        gpufl_status status = gz_cache_read(&cache, fd, offset, buf, cap, &len);
        if (status != read_fresh(fd, offset, fresh, cap, &want) || len != want ||
            memcmp(buf, fresh, len) != 0) {
            __builtin_trap();
        }
    }
    gz_cache_close(&cache);
    close(fd);
    return 0;
}
