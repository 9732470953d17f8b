/* SPDX-License-Identifier: Apache-2.0 */
/* Reads /proc/stat and sysinfo(2). */
#include "collector-lib/sample/host.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "collector-lib/sample/sysfs.h"

/* First line of /proc/stat (proc(5)): user nice system idle iowait irq softirq steal, in
 * ticks of all cores together. */
static int read_cpu(uint64_t *busy, uint64_t *total)
{
    char text[512];
    int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0) {
        return -1;
    }
    text[n] = '\0';
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

/* Reads the address from the interfaces; no socket is connected. */
static void find_address(char *out, size_t size)
{
    struct ifaddrs *list = NULL;
    out[0] = '\0';
    if (getifaddrs(&list) < 0) {
        return;
    }
    for (struct ifaddrs *i = list; i && !out[0]; i = i->ifa_next) {
        if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET && (i->ifa_flags & IFF_UP) &&
            !(i->ifa_flags & IFF_LOOPBACK)) {
            struct sockaddr_in in;
            memcpy(&in, i->ifa_addr, sizeof in);
            inet_ntop(AF_INET, &in.sin_addr, out, (socklen_t)size);
        }
    }
    freeifaddrs(list);
}

void host_open(struct host *host)
{
    memset(host, 0, sizeof *host);
    if (gethostname(host->hostname, sizeof host->hostname - 1) < 0) {
        host->hostname[0] = '\0';
    }
    find_address(host->ip_addr, sizeof host->ip_addr);
    cgroup_open(&host->cgroup, "/proc", sysfs_root());
    read_cpu(&host->busy, &host->total);
}

void host_close(struct host *host)
{
    cgroup_close(&host->cgroup);
}

struct host_sample host_read(struct host *host, int64_t mono_ns)
{
    struct host_sample sample = {.cgroup = cgroup_read(&host->cgroup, mono_ns)};
    uint64_t busy;
    uint64_t total;
    if (read_cpu(&busy, &total) == 0) {
        if (total > host->total && busy >= host->busy) {
            sample.cpu_pct_x100 =
                (int)((busy - host->busy) * 10000 / (total - host->total));
        }
        host->busy = busy;
        host->total = total;
    }
    struct sysinfo info;
    if (sysinfo(&info) == 0) {
        sample.ram_total_mib = (int64_t)((uint64_t)info.totalram * info.mem_unit >> 20);
        sample.ram_used_mib =
            (int64_t)((uint64_t)(info.totalram - info.freeram) * info.mem_unit >> 20);
    }
    return sample;
}
