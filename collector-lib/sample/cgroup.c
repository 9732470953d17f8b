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
static int64_t cpu_limit(struct sysfs_file *file)
{
    char text[64];
    int64_t quota_us;
    int64_t period_us;
    if (!sysfs_file_text(file, text, sizeof text) ||
        sscanf(text, "%" SCNd64 " %" SCNd64, &quota_us, &period_us) != 2 ||
        quota_us < 0 || quota_us > INT64_MAX / 10000 || period_us <= 0) {
        return NONE;
    }
    return quota_us * 10000 / period_us;
}

static int64_t memory_mib(struct sysfs_file *file)
{
    int64_t bytes;
    return sysfs_file_number(file, &bytes) && bytes >= 0 ? bytes >> 20 : NONE;
}

static int64_t cpu_usage_us(struct sysfs_file *file)
{
    char text[256];
    int64_t us;
    return sysfs_file_text(file, text, sizeof text) &&
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

static void group_files_fini(struct group_files *files)
{
    sysfs_file_fini(&files->use);
    sysfs_file_fini(&files->limit);
}

/* Watches \p found in the place of \p watched, if its limit is lower. */
static void take_if_lower(struct group_files *watched, int64_t *lowest,
                          struct group_files *found, int64_t limit)
{
    bool is_first = !watched->use.path;
    bool lower = is_first || (limit >= 0 && (*lowest < 0 || limit < *lowest));
    group_files_fini(lower ? watched : found);
    if (lower) {
        *watched = *found;
        *lowest = limit;
    }
}

/* Of one kind: the names of its files, and what they say, NONE = nothing. */
struct group_kind {
    const char *use, *limit;
    int64_t (*read_use)(struct sysfs_file *file);
    int64_t (*read_limit)(struct sysfs_file *file);
};

static void look_at_group(struct group_files *watched, int64_t *lowest, const char *dir,
                          const struct group_kind *kind)
{
    struct group_files found;
    sysfs_file_init(&found.use, dir, kind->use);
    sysfs_file_init(&found.limit, dir, kind->limit);
    if (kind->read_use(&found.use) >= 0) {
        take_if_lower(watched, lowest, &found, kind->read_limit(&found.limit));
    } else {
        group_files_fini(&found);
    }
}

/* Goes from the job's group up to the root of the mount. */
static void watch_groups(struct cgroup *cgroup, const char *mount, char path[PATH_MAX])
{
    static const struct group_kind memory = {"memory.current", "memory.max", memory_mib,
                                             memory_mib};
    static const struct group_kind cpu = {"cpu.stat", "cpu.max", cpu_usage_us, cpu_limit};
    int64_t lowest_cpu = NONE;
    int64_t lowest_memory = NONE;
    for (;;) {
        char dir[2 * PATH_MAX];
        snprintf(dir, sizeof dir, "%s%s", mount, path);
        look_at_group(&cgroup->memory, &lowest_memory, dir, &memory);
        look_at_group(&cgroup->cpu, &lowest_cpu, dir, &cpu);
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
    *cgroup = (struct cgroup){.cpu = GROUP_FILES_NONE,
                              .memory = GROUP_FILES_NONE,
                              .usage_us = NONE,
                              .cpu_pct_x100 = NONE};
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
    group_files_fini(&cgroup->cpu);
    group_files_fini(&cgroup->memory);
}

static int64_t cgroup_cpu_figure(struct cgroup *cgroup, int64_t mono_ns)
{
    int64_t us = cpu_usage_us(&cgroup->cpu.use);
    int64_t span_ns = mono_ns - cgroup->mono_ns;
    bool follows = cgroup->usage_us >= 0 && us >= cgroup->usage_us;
    if (follows && span_ns < CPU_FIGURE_NS) {
        return cgroup->cpu_pct_x100;
    }
    cgroup->cpu_pct_x100 =
        follows ? (us - cgroup->usage_us) * 10000 / (span_ns / 1000) : NONE;
    cgroup->usage_us = us;
    cgroup->mono_ns = mono_ns;
    return cgroup->cpu_pct_x100;
}

struct cgroup_sample cgroup_read(struct cgroup *cgroup, int64_t mono_ns)
{
    struct cgroup_sample s = {.cpu_pct_x100 = cgroup_cpu_figure(cgroup, mono_ns),
                              .cpu_limit_pct_x100 = cpu_limit(&cgroup->cpu.limit),
                              .memory_used_mib = memory_mib(&cgroup->memory.use),
                              .memory_limit_mib = memory_mib(&cgroup->memory.limit)};
    return s;
}
