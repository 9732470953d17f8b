/* SPDX-License-Identifier: Apache-2.0 */
/* Divides what is free. */
#include "collector-lib/cupti/pc_memory.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector-lib/core/own_fd.h"

size_t pc_memory_share(size_t device_free, size_t host_free, size_t most)
{
    size_t share = (device_free < host_free ? device_free : host_free) / PC_MEMORY_SHARE;
    return share < PC_MEMORY_MIN_BYTES ? 0 : share < most ? share : most;
}

size_t pc_memory_host_free(const char *meminfo)
{
    char text[512]; /* it is the third line */
    struct own_fd file;
    unsigned long long kib;
    if (!own_fd_take_briefly(&file, open(meminfo, O_RDONLY | O_CLOEXEC))) {
        return SIZE_MAX;
    }
    ssize_t len = read(file.fd, text, sizeof text - 1);
    own_fd_close(&file);
    text[len > 0 ? len : 0] = '\0';
    const char *at = strstr(text, "MemAvailable:");
    return at && sscanf(at, "MemAvailable: %llu kB", &kib) == 1 ? (size_t)kib << 10
                                                                : SIZE_MAX;
}
