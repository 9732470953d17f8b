/* SPDX-License-Identifier: Apache-2.0 */
/* AMD devices, read from the files of the amdgpu driver. */
#ifndef GPUFL_COLLECTOR_SAMPLE_AMDGPU_H
#define GPUFL_COLLECTOR_SAMPLE_AMDGPU_H

#include <stdbool.h>

#include "collector-lib/core/own_fd.h"

/** The numbers of a device's sensors: the label is the same on all devices, the number
 * is not. -1 = the device has none. */
struct amdgpu_sensors {
    int edge, junction, memory; /**< tempN */
    int vddgfx;                 /**< inN */
    int sclk, mclk;             /**< freqN */
};

struct amdgpu_device {
    const char *sysfs;   /**< the tree that it was found in */
    unsigned number;     /**< N */
    struct own_fd dir;   /**< …/class/drm/cardN/device */
    struct own_fd hwmon; /**< …/hwmon/hwmonN */
    bool has_sensors;
    struct amdgpu_sensors at;
    char slot[32]; /**< PCI address, 0000:c3:00.0 */
    /* From the KFD's topology; 0 = not known. */
    int gfx_version; /**< 90402 = gfx942 */
    int compute_units, wave_size;
};

/** Fills \p out with the devices in the tree \p sysfs, which outlives them, in the
 * order of their cards. \return their number, at most \p most. Each must be closed. */
unsigned amdgpu_find(const char *sysfs, struct amdgpu_device *out, unsigned most);
void amdgpu_close(struct amdgpu_device *device);

/** Opens again what the job has closed. */
void amdgpu_mend(struct amdgpu_device *device);

/** Parses a PCI address such as "0000:c3:00.0" into domain and location (bus << 8 |
 * device << 3 | function). \return 0, or -1 if it is not one. */
int amdgpu_slot(const char *slot, unsigned *domain, unsigned *location);

#endif
