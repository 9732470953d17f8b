/* SPDX-License-Identifier: Apache-2.0 */
/* Reads /proc/stat and sysinfo(2). */
#include "collector-lib/sample/host.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "collector-lib/core/clock.h"
#include "collector-lib/sample/sysfs.h"

/* First line of /proc/stat (proc(5)): user nice system idle iowait irq softirq steal, in
 * ticks of all cores together. */
static int read_cpu(struct sysfs_file *stat, uint64_t *busy, uint64_t *total)
{
    char text[512];
    if (!sysfs_file_text(stat, text, sizeof text)) {
        return -1;
    }
    uint64_t v[8] = {0};
    int got = sscanf(text,
                     "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
                     " %" SCNu64 " %" SCNu64 " %" SCNu64,
                     &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]);
    if (got < 4) {
        return -1;
    }
    *total = 0;
    for (int i = 0; i < 8; i++) {
        *total += v[i];
    }
    *busy = *total - v[3] - v[4];
    return 0;
}

static bool is_up(int fd, const struct ifreq *interface)
{
    struct ifreq asked = *interface;
    return ioctl(fd, SIOCGIFFLAGS, &asked) == 0 && asked.ifr_flags & IFF_UP &&
           !(asked.ifr_flags & IFF_LOOPBACK);
}

/* Not by getifaddrs(3), in which glibc ends the process if the job closes its socket
 * meanwhile. No socket is connected. */
static void find_address(char *out, size_t size)
{
    struct ifreq interface[64];
    struct ifconf list = {.ifc_len = sizeof interface, .ifc_req = interface};
    struct own_fd own;
    out[0] = '\0';
    if (!own_fd_take_briefly(&own, socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0))) {
        return;
    }
    int count = ioctl(own.fd, SIOCGIFCONF, &list) == 0
                    ? list.ifc_len / (int)sizeof interface[0]
                    : 0;
    for (int i = 0; i < count && !out[0]; i++) {
        if (interface[i].ifr_addr.sa_family == AF_INET && is_up(own.fd, &interface[i])) {
            struct sockaddr_in in;
            memcpy(&in, &interface[i].ifr_addr, sizeof in);
            inet_ntop(AF_INET, &in.sin_addr, out, (socklen_t)size);
        }
    }
    own_fd_close(&own);
}

void host_open(struct host *host, const char *sysfs)
{
    memset(host, 0, sizeof *host);
    sysfs_file_init(&host->stat, "/proc", "stat");
    if (gethostname(host->hostname, sizeof host->hostname - 1) < 0) {
        host->hostname[0] = '\0';
    }
    find_address(host->ip_addr, sizeof host->ip_addr);
    cgroup_open(&host->cgroup, "/proc", sysfs_root(sysfs));
    host->mono_ns = clock_mono_ns();
    read_cpu(&host->stat, &host->busy, &host->total);
}

void host_close(struct host *host)
{
    cgroup_close(&host->cgroup);
    sysfs_file_fini(&host->stat);
}

static int host_cpu_figure(struct host *host, int64_t mono_ns)
{
    uint64_t busy;
    uint64_t total;
    if (mono_ns - host->mono_ns < CPU_FIGURE_NS ||
        read_cpu(&host->stat, &busy, &total) != 0) {
        return host->cpu_pct_x100;
    }
    if (total > host->total && busy >= host->busy) {
        host->cpu_pct_x100 = (int)((busy - host->busy) * 10000 / (total - host->total));
    }
    host->busy = busy;
    host->total = total;
    host->mono_ns = mono_ns;
    return host->cpu_pct_x100;
}

struct host_sample host_read(struct host *host, int64_t mono_ns)
{
    struct host_sample sample = {.cpu_pct_x100 = host_cpu_figure(host, mono_ns),
                                 .cgroup = cgroup_read(&host->cgroup, mono_ns)};
    struct sysinfo info;
    if (sysinfo(&info) == 0) {
        sample.ram_total_mib = (int64_t)((uint64_t)info.totalram * info.mem_unit >> 20);
        sample.ram_used_mib =
            (int64_t)((uint64_t)(info.totalram - info.freeram) * info.mem_unit >> 20);
    }
    return sample;
}
