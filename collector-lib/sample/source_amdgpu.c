/* SPDX-License-Identifier: Apache-2.0 */
/* AMD devices by the files of the amdgpu driver; no ROCm library is needed.
 *
 * Names and units: the kernel's Documentation/gpu/amdgpu (thermal, driver-misc, ras) and
 * Documentation/hwmon/sysfs-interface. A file that a device does not have leaves its
 * figure at GPU_NOT_AVAILABLE. PCIe throughput is not asked for: the driver's pcie_bw
 * sleeps a second in each read, and most data centre chips lack it. Tested on trees of
 * files: not run on hardware. */
#include "collector-lib/sample/source_amdgpu.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector-lib/sample/amdgpu.h"
#include "collector-lib/sample/sysfs.h"

#define NAME_BYTES 128

struct gpu_handle {
    unsigned count;
    struct amdgpu_device device[GPU_MAX];
};

static int64_t read_number(int dir_fd, const char *name)
{
    int64_t value;
    return sysfs_number(dir_fd, name, &value) && value >= 0 ? value : GPU_NOT_AVAILABLE;
}

static int64_t over(int64_t value, int64_t unit)
{
    return value < 0 ? GPU_NOT_AVAILABLE : value / unit;
}

static int64_t read_sensor(const struct amdgpu_device *d, const char *prefix, int at,
                           const char *what, int64_t unit)
{
    char name[NAME_BYTES];
    if (at < 0) {
        return GPU_NOT_AVAILABLE;
    }
    snprintf(name, sizeof name, "%s%d_%s", prefix, at, what);
    return over(read_number(d->hwmon.fd, name), unit);
}

/* µW; newer chips have only the current value. */
static int64_t read_power_uw(const struct amdgpu_device *d)
{
    int64_t uw = read_number(d->hwmon.fd, "power1_average");
    return uw >= 0 ? uw : read_number(d->hwmon.fd, "power1_input");
}

/* The current level of a pp_dpm file: "1: 2100Mhz *". For chips without freqN. */
static int64_t read_level_mhz(int dir_fd, const char *name)
{
    char text[1024];
    int mhz;
    if (!sysfs_text(dir_fd, name, text, sizeof text)) {
        return GPU_NOT_AVAILABLE;
    }
    for (char *rest, *line = strtok_r(text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        if (strchr(line, '*') && sscanf(line, "%*[^:]: %d", &mhz) == 1) {
            return mhz;
        }
    }
    return GPU_NOT_AVAILABLE;
}

static int64_t read_amdgpu_clock(const struct amdgpu_device *d, int at,
                                 const char *levels)
{
    int64_t mhz = read_sensor(d, "freq", at, "input", 1000000);
    return mhz >= 0 ? mhz : read_level_mhz(d->dir.fd, levels);
}

/* "ue: 0" and "ce: 0" of the memory controller. */
static void read_amdgpu_ecc(const struct amdgpu_device *d, struct gpu_sample *out)
{
    char text[128];
    if (sysfs_text(d->dir.fd, "ras/umc_err_count", text, sizeof text)) {
        sscanf(text, "ue: %" SCNd64 " ce: %" SCNd64, &out->ecc_uncorrected,
               &out->ecc_corrected);
    }
}

static int64_t reached(int64_t value, int64_t limit)
{
    return value < 0 || limit <= 0 ? GPU_NOT_AVAILABLE : value >= limit;
}

static void read_sensors(const struct amdgpu_device *d, struct gpu_sample *out)
{
    const struct amdgpu_sensors *at = &d->at;
    int64_t power_uw = read_power_uw(d);
    int64_t fan = read_number(d->hwmon.fd, "pwm1");
    int64_t fan_max = read_number(d->hwmon.fd, "pwm1_max");
    out->temp_junction_c = read_sensor(d, "temp", at->junction, "input", 1000);
    out->temp_mem_c = read_sensor(d, "temp", at->memory, "input", 1000);
    out->temp_c = read_sensor(d, "temp", at->edge, "input", 1000);
    if (out->temp_c < 0) {
        out->temp_c = out->temp_junction_c;
    }
    out->power_mw = over(power_uw, 1000);
    out->energy_uj = read_number(d->hwmon.fd, "energy1_input");
    out->voltage_mv = read_sensor(d, "in", at->vddgfx, "input", 1);
    out->fan_pct =
        fan < 0 ? GPU_NOT_AVAILABLE : fan * 100 / (fan_max > 0 ? fan_max : 255);
    out->throttle_power = reached(power_uw, read_number(d->hwmon.fd, "power1_cap"));
    out->throttle_thermal =
        reached(out->temp_junction_c, read_sensor(d, "temp", at->junction, "crit", 1000));
}

static void sample_amdgpu(struct gpu_handle *handle, unsigned at, struct gpu_sample *out)
{
    struct amdgpu_device *d = &handle->device[at];
    amdgpu_mend(d);
    memset(out, 0xff, sizeof *out); /* every figure GPU_NOT_AVAILABLE */
    int64_t total = read_number(d->dir.fd, "mem_info_vram_total");
    int64_t used = read_number(d->dir.fd, "mem_info_vram_used");
    out->total_mib = over(total, 1 << 20);
    out->used_mib = over(used, 1 << 20);
    out->free_mib = total < 0 || used < 0 ? GPU_NOT_AVAILABLE : (total - used) >> 20;
    out->gpu_util_pct = read_number(d->dir.fd, "gpu_busy_percent");
    out->mem_util_pct = read_number(d->dir.fd, "mem_busy_percent");
    out->clock_sm_mhz = out->clock_gfx_mhz =
        read_amdgpu_clock(d, d->at.sclk, "pp_dpm_sclk");
    out->clock_mem_mhz = read_amdgpu_clock(d, d->at.mclk, "pp_dpm_mclk");
    read_amdgpu_ecc(d, out);
    if (d->hwmon.fd >= 0) {
        read_sensors(d, out);
    }
}

static void close_amdgpu(struct gpu_handle *handle)
{
    for (unsigned i = 0; i < handle->count; i++) {
        amdgpu_close(&handle->device[i]);
    }
    free(handle);
}

static struct gpu_handle *open_amdgpu(const struct gpu_wish *wish)
{
    struct gpu_handle *handle = calloc(1, sizeof *handle);
    if (!handle) {
        return NULL;
    }
    handle->count = amdgpu_find(sysfs_root(wish->sysfs), handle->device, GPU_MAX);
    if (handle->count == 0) {
        free(handle);
        return NULL;
    }
    return handle;
}

static unsigned count_amdgpu(const struct gpu_handle *handle)
{
    return handle->count;
}

static int or_unknown(int value)
{
    return value > 0 ? value : GPU_NOT_AVAILABLE;
}

static void info_amdgpu(struct gpu_handle *handle, unsigned at, struct gpu_info *out)
{
    const struct amdgpu_device *d = &handle->device[at];
    unsigned domain;
    unsigned location;
    *out = (struct gpu_info){.vendor = "AMD",
                             .parent = -1,
                             .multi_processors = or_unknown(d->compute_units),
                             .warp_size = or_unknown(d->wave_size)};
    if (d->gfx_version > 0) { /* major in decimal, minor and stepping in hex */
        out->compute_major = d->gfx_version / 10000;
        out->compute_minor = d->gfx_version / 100 % 100;
        snprintf(out->architecture, sizeof out->architecture, "gfx%d%x%x",
                 out->compute_major, (unsigned)out->compute_minor,
                 (unsigned)d->gfx_version % 100);
    }
    if (!sysfs_text(d->dir.fd, "product_name", out->name, sizeof out->name) ||
        !out->name[0]) {
        int64_t id = read_number(d->dir.fd, "device");
        snprintf(out->name, sizeof out->name, "AMD GPU 1002:%04x", (unsigned)id & 0xffff);
    }
    if (!sysfs_text(d->dir.fd, "unique_id", out->uuid, sizeof out->uuid) ||
        !out->uuid[0]) {
        snprintf(out->uuid, sizeof out->uuid, "PCI-%s", d->slot);
    }
    if (amdgpu_slot(d->slot, &domain, &location) == 0) {
        out->pci_bus = (int)(location >> 8);
    }
}

const struct gpu_source gpu_source_amdgpu = {
    .name = "amdgpu",
    .kind = GPUFL_BACKEND_AMD,
    .open = open_amdgpu,
    .count = count_amdgpu,
    .info = info_amdgpu,
    .sample = sample_amdgpu,
    .close = close_amdgpu,
};
