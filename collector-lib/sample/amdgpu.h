/* SPDX-License-Identifier: Apache-2.0 */
/* AMD devices as the files of the amdgpu driver show them. */
#ifndef GPUFL_COLLECTOR_SAMPLE_AMDGPU_H
#define GPUFL_COLLECTOR_SAMPLE_AMDGPU_H

/** Where a sensor's files are: the number differs by device, the label does not. -1 = the
 *  device has none. */
struct amdgpu_sensors {
    int edge, junction, memory; /**< tempN */
    int vddgfx;                 /**< inN */
    int sclk, mclk;             /**< freqN */
};

struct amdgpu_device {
    int dir_fd;   /**< …/class/drm/cardN/device */
    int hwmon_fd; /**< …/hwmon/hwmonN, -1 without */
    struct amdgpu_sensors at;
    char slot[32]; /**< PCI address, 0000:c3:00.0 */
    /* Of the KFD's topology; 0 = not there. */
    int gfx_version; /**< 90402 = gfx942 */
    int compute_units, wave_size;
};

/** Fills \p out with the devices of the tree \p sysfs, in the order of their cards.
 *  \return how many, at most \p most. Close each. */
unsigned amdgpu_find(const char *sysfs, struct amdgpu_device *out, unsigned most);
void amdgpu_close(struct amdgpu_device *device);

/** PCI domain and location (bus << 8 | device << 3 | function) of "0000:c3:00.0".
 *  \return 0, or -1 when it is none. */
int amdgpu_slot(const char *slot, unsigned *domain, unsigned *location);

#endif
