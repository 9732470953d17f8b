/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the boot id. */
#include "base/boot_id.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static pthread_once_t boot_once = PTHREAD_ONCE_INIT;
static char boot_id[BOOT_ID_TEXT];

static void read_boot_id(void)
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, boot_id, sizeof boot_id - 1) : -1;
    boot_id[n > 0 ? n : 0] = '\0';
    boot_id[strcspn(boot_id, "\n")] = '\0';
    if (fd >= 0) {
        close(fd);
    }
}

void boot_id_get(char out[BOOT_ID_TEXT])
{
    pthread_once(&boot_once, read_boot_id);
    memcpy(out, boot_id, sizeof boot_id);
}
