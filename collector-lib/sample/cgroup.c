/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the files of control groups; names and units as in the kernel's
 * Documentation/admin-guide/cgroup-v2.rst. */
#include "collector-lib/sample/cgroup.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector-lib/sample/sysfs.h"

#define NONE (-1)

/* cpu.max is "QUOTA PERIOD" in µs, or "max PERIOD". */
static int64_t cpu_limit(int dir_fd)
{
    char text[64];
    int64_t quota_us;
    int64_t period_us;
    if (!sysfs_text(dir_fd, "cpu.max", text, sizeof text) ||
        sscanf(text, "%" SCNd64 " %" SCNd64, &quota_us, &period_us) != 2 ||
        quota_us < 0 || quota_us > INT64_MAX / 10000 || period_us <= 0) {
        return NONE;
    }
    return quota_us * 10000 / period_us;
}

static int64_t memory_limit(int dir_fd)
{
    int64_t bytes;
    return sysfs_number(dir_fd, "memory.max", &bytes) && bytes >= 0 ? bytes >> 20 : NONE;
}

static int64_t cpu_usage_us(int dir_fd)
{
    char text[256];
    int64_t us;
    return sysfs_text(dir_fd, "cpu.stat", text, sizeof text) &&
                   sscanf(text, "usage_usec %" SCNd64, &us) == 1
               ? us
               : NONE;
}

/* The path of version 2 follows "0::" (cgroups(7)). It begins with "/.." if the job is
 * above the root of the namespace, and is then outside the mount. */
static bool own_path(const char *proc, char out[PATH_MAX])
{
    char name[PATH_MAX];
    char text[4096];
    snprintf(name, sizeof name, "%s/self/cgroup", proc);
    if (!sysfs_text(AT_FDCWD, name, text, sizeof text)) {
        return false;
    }
    for (char *rest, *line = strtok_r(text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        if (strncmp(line, "0::/", 4) == 0 && strstr(line, "/..") == NULL) {
            snprintf(out, PATH_MAX, "%s", line + 3);
            return true;
        }
    }
    return false;
}

static void take_if_lower(struct own_fd *dir, int64_t *lowest, int dir_fd, int64_t limit)
{
    if (dir->fd < 0 || (limit >= 0 && (*lowest < 0 || limit < *lowest))) {
        own_fd_close(dir);
        own_fd_take(dir, fcntl(dir_fd, F_DUPFD_CLOEXEC, 0));
        *lowest = limit;
    }
}

/* Goes from the job's group up to the root of the mount. */
static void watch_groups(struct cgroup *cgroup, const char *mount, char path[PATH_MAX])
{
    int64_t cpu = NONE;
    int64_t memory = NONE;
    for (;;) {
        char full[2 * PATH_MAX];
        int64_t value;
        snprintf(full, sizeof full, "%s%s", mount, path);
        int fd = sysfs_dir(AT_FDCWD, full);
        if (fd >= 0 && sysfs_number(fd, "memory.current", &value)) {
            take_if_lower(&cgroup->memory_dir, &memory, fd, memory_limit(fd));
        }
        if (fd >= 0 && cpu_usage_us(fd) >= 0) {
            take_if_lower(&cgroup->cpu_dir, &cpu, fd, cpu_limit(fd));
        }
        if (fd >= 0) {
            close(fd);
        }
        char *slash = strrchr(path, '/');
        if (!slash || path[1] == '\0') {
            return;
        }
        slash[slash == path] = '\0';
    }
}

void cgroup_open(struct cgroup *cgroup, const char *proc, const char *sysfs)
{
    static const char *const mounts[] = {"fs/cgroup", "fs/cgroup/unified"};
    char path[PATH_MAX];
    *cgroup = (struct cgroup){
        .cpu_dir = OWN_FD_NONE, .memory_dir = OWN_FD_NONE, .usage_us = NONE};
    if (!own_path(proc, path)) {
        return;
    }
    for (size_t i = 0; i < sizeof mounts / sizeof mounts[0]; i++) {
        char mount[PATH_MAX];
        snprintf(mount, sizeof mount, "%s/%s/cgroup.controllers", sysfs, mounts[i]);
        if (access(mount, R_OK) == 0) {
            *strrchr(mount, '/') = '\0';
            watch_groups(cgroup, mount, path);
            return;
        }
    }
}

void cgroup_close(struct cgroup *cgroup)
{
    own_fd_close(&cgroup->cpu_dir);
    own_fd_close(&cgroup->memory_dir);
}

struct cgroup_sample cgroup_read(struct cgroup *cgroup, int64_t mono_ns)
{
    struct cgroup_sample s = {NONE, NONE, NONE, NONE};
    int64_t bytes;
    if (cgroup->memory_dir.fd >= 0) {
        s.memory_limit_mib = memory_limit(cgroup->memory_dir.fd);
        if (sysfs_number(cgroup->memory_dir.fd, "memory.current", &bytes)) {
            s.memory_used_mib = bytes >> 20;
        }
    }
    if (cgroup->cpu_dir.fd >= 0) {
        int64_t us = cpu_usage_us(cgroup->cpu_dir.fd);
        int64_t span_us = (mono_ns - cgroup->mono_ns) / 1000;
        s.cpu_limit_pct_x100 = cpu_limit(cgroup->cpu_dir.fd);
        if (cgroup->usage_us >= 0 && us >= cgroup->usage_us && span_us > 0) {
            s.cpu_pct_x100 = (us - cgroup->usage_us) * 10000 / span_us;
        }
        cgroup->usage_us = us;
        cgroup->mono_ns = mono_ns;
    }
    return s;
}
