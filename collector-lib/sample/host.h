/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of the host and of the job's control group, and the identity of the machine. */
#ifndef GPUFL_COLLECTOR_SAMPLE_HOST_H
#define GPUFL_COLLECTOR_SAMPLE_HOST_H

#include <stdint.h>

#include "collector-lib/sample/cgroup.h"
#include "collector-lib/sample/sysfs.h"

/** One sample. ram_used is total minus free and includes the page cache, as in the
 * records of the existing clients. */
struct host_sample {
    int cpu_pct_x100; /**< percent of all cores × 100 since the figure before */
    int64_t ram_used_mib;
    int64_t ram_total_mib;
    struct cgroup_sample cgroup;
};

/** State between samples, and the identity. Set by host_open, released by host_close. */
struct host {
    uint64_t busy; /* when the last figure was taken */
    uint64_t total;
    int64_t mono_ns;
    int cpu_pct_x100;       /* that figure */
    struct sysfs_file stat; /**< /proc/stat */
    struct cgroup cgroup;
    char hostname[128];
    char
        ip_addr[48]; /**< first IPv4 address of an interface that is up; "" without one */
};

/** \p sysfs: as in struct gpu_wish. */
void host_open(struct host *host, const char *sysfs);
void host_close(struct host *host);

/** \p mono_ns is now. */
struct host_sample host_read(struct host *host, int64_t mono_ns);

#endif
