/* SPDX-License-Identifier: Apache-2.0 */
/* Limits and use of the job's control group (version 2). In a container the figures of
 * the machine say little. */
#ifndef GPUFL_COLLECTOR_SAMPLE_CGROUP_H
#define GPUFL_COLLECTOR_SAMPLE_CGROUP_H

#include <stdint.h>

#include "collector-lib/sample/sysfs.h"

/** In less, a processor was taken all of the time or none, by the kernel's clock ticks: a
 * figure that is asked for again so soon, as by a mark and a sample, stays what it was.
 */
#define CPU_FIGURE_NS 10000000

/** -1 = not available, or no limit. */
struct cgroup_sample {
    int64_t cpu_pct_x100;       /**< percent of one core × 100 since the figure before */
    int64_t cpu_limit_pct_x100; /**< quota in the same unit */
    int64_t memory_used_mib;    /**< memory.current: page cache included */
    int64_t memory_limit_mib;
};

/** What a group has of one kind: what is used, and the limit. */
struct group_files {
    struct sysfs_file use, limit;
};

#define GROUP_FILES_NONE                                                                 \
    {                                                                                    \
        .use = SYSFS_FILE_NONE, .limit = SYSFS_FILE_NONE                                 \
    }

/** Of the groups whose limits bind; none without control groups. */
struct cgroup {
    struct group_files cpu, memory;
    int64_t usage_us; /* when the last figure was taken, -1 = none */
    int64_t mono_ns;
    int64_t cpu_pct_x100; /* that figure */
};

/** \p proc and \p sysfs are the mount points of procfs and sysfs. Watches the group
 * with the lowest limit among the job's group and those above it; without any limit,
 * the job's group. */
void cgroup_open(struct cgroup *cgroup, const char *proc, const char *sysfs);
void cgroup_close(struct cgroup *cgroup);

/** Reads limits and use. \p mono_ns is now. */
struct cgroup_sample cgroup_read(struct cgroup *cgroup, int64_t mono_ns);

#endif
