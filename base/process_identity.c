/* SPDX-License-Identifier: Apache-2.0 */
/* Reads /proc/self. */
#include "base/process_identity.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STAT_START_FIELD   22 /* see proc_pid_stat(5) */
#define STAT_THREADS_FIELD 20
#define STAT_STATE_FIELD   3 /* the first one behind the name */

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
static const char *process_stat_field(const char *stat, int number)
{
    const char *at = strrchr(stat, ')');
    for (int field = STAT_STATE_FIELD; at && field <= number; field++) {
        at = strchr(at + 1, ' ');
    }
    return at ? at + 1 : "";
}

static uint64_t start_ticks_of(const char *stat)
{
    return strtoull(process_stat_field(stat, STAT_START_FIELD), NULL, 10);
}

void process_identity_read(struct process_identity *out)
{
    char stat_line[1024];
    struct stat ns;
    *out = (struct process_identity){.pid = getpid()};
    boot_id_get(out->boot_id);
    read_identity_text("/proc/self/stat", stat_line, sizeof stat_line);
    out->start_ticks = start_ticks_of(stat_line);
    out->pid_namespace = stat("/proc/self/ns/pid", &ns) == 0 ? ns.st_ino : 0;
}

/* The first thread may end before the others do: then it is a zombie, too. */
static bool process_stat_is_zombie(const char *stat)
{
    return process_stat_field(stat, STAT_STATE_FIELD)[0] == 'Z' &&
           strtoull(process_stat_field(stat, STAT_THREADS_FIELD), NULL, 10) <= 1;
}

enum process_state process_identity_probe(const struct process_identity *of)
{
    char path[64];
    char stat_line[1024];
    struct process_identity self;
    process_identity_read(&self);
    if (of->pid <= 0 || of->pid > INT32_MAX || !self.boot_id[0] || !self.pid_namespace ||
        of->pid_namespace != self.pid_namespace ||
        strcmp(of->boot_id, self.boot_id) != 0) {
        return PROCESS_UNKNOWN;
    }
    if (kill((pid_t)of->pid, 0) < 0 && errno == ESRCH) {
        return PROCESS_GONE;
    }
    snprintf(path, sizeof path, "/proc/%d/stat", (int)of->pid);
    read_identity_text(path, stat_line, sizeof stat_line);
    uint64_t ticks = start_ticks_of(stat_line);
    if (process_stat_is_zombie(stat_line)) {
        return PROCESS_GONE;
    }
    if (!ticks || !of->start_ticks) {
        return PROCESS_UNKNOWN;
    }
    return ticks == of->start_ticks ? PROCESS_RUNS : PROCESS_GONE;
}

bool process_identity_same(const struct process_identity *a,
                           const struct process_identity *b)
{
    return a->boot_id[0] && a->pid_namespace && a->start_ticks && a->pid == b->pid &&
           a->pid_namespace == b->pid_namespace && a->start_ticks == b->start_ticks &&
           strcmp(a->boot_id, b->boot_id) == 0;
}
