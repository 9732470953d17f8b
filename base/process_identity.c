/* SPDX-License-Identifier: Apache-2.0 */
/* Reads /proc/self and the boot id. */
#include "base/process_identity.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STAT_START_FIELD 22 /* see proc_pid_stat(5) */
#define STAT_STATE_FIELD 3  /* the first one behind the name */

static void read_identity_text(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, out, size - 1) : -1;
    out[n > 0 ? n : 0] = '\0';
    if (fd >= 0) {
        close(fd);
    }
}

/* The name of the program, in parentheses, may hold blanks and parentheses itself. */
static uint64_t start_ticks_of(const char *stat)
{
    const char *at = strrchr(stat, ')');
    for (int field = STAT_STATE_FIELD; at && field <= STAT_START_FIELD; field++) {
        at = strchr(at + 1, ' ');
    }
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

static pthread_once_t boot_once = PTHREAD_ONCE_INIT;
static char boot_id[BOOT_ID_TEXT];

static void read_boot_id(void)
{
    read_identity_text("/proc/sys/kernel/random/boot_id", boot_id, sizeof boot_id);
    boot_id[strcspn(boot_id, "\n")] = '\0';
}

void process_boot_id(char out[BOOT_ID_TEXT])
{
    pthread_once(&boot_once, read_boot_id);
    memcpy(out, boot_id, sizeof boot_id);
}

void process_identity_read(struct process_identity *out)
{
    char stat_line[1024];
    struct stat ns;
    *out = (struct process_identity){.pid = getpid()};
    process_boot_id(out->boot_id);
    read_identity_text("/proc/self/stat", stat_line, sizeof stat_line);
    out->start_ticks = start_ticks_of(stat_line);
    out->pid_namespace = stat("/proc/self/ns/pid", &ns) == 0 ? ns.st_ino : 0;
}

bool process_identity_same(const struct process_identity *a,
                           const struct process_identity *b)
{
    return a->boot_id[0] && a->pid_namespace && a->start_ticks && a->pid == b->pid &&
           a->pid_namespace == b->pid_namespace && a->start_ticks == b->start_ticks &&
           strcmp(a->boot_id, b->boot_id) == 0;
}
