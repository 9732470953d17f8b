/* SPDX-License-Identifier: Apache-2.0 */
/* What the job's control group (version 2) may use, and what it uses: in a container the
 * machine's own figures say little. */
#ifndef GPUFL_COLLECTOR_SAMPLE_CGROUP_H
#define GPUFL_COLLECTOR_SAMPLE_CGROUP_H

#include <stdint.h>

/** -1 = not available, or no limit. */
struct cgroup_sample {
    int64_t cpu_pct_x100;       /**< percent of one core × 100 since the sample before */
    int64_t cpu_limit_pct_x100; /**< quota in the same unit */
    int64_t memory_used_mib;    /**< memory.current: page cache included */
    int64_t memory_limit_mib;
};

/** Directories of the groups whose limits bind; -1 without control groups. */
struct cgroup {
    int cpu_fd;
    int memory_fd;
    int64_t usage_us; /* at the sample before, -1 = none */
    int64_t mono_ns;
};

/** \p proc is where procfs is mounted ("/proc"), \p sysfs likewise. Of the group and all
 *  above it the one with the lowest limit is watched; without a limit the job's own. */
void cgroup_open(struct cgroup *cgroup, const char *proc, const char *sysfs);
void cgroup_close(struct cgroup *cgroup);

/** Reads limits and use; \p mono_ns is now. */
struct cgroup_sample cgroup_read(struct cgroup *cgroup, int64_t mono_ns);

#endif
