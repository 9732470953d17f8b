/* SPDX-License-Identifier: Apache-2.0 */
/* The devices of a session, by UUID. The driver's tools and CUDA number them differently
 * (CUDA_VISIBLE_DEVICES, CUDA_DEVICE_ORDER, MIG): each row has the number of this table.
 * Used by the writer's thread alone. */
#ifndef GPUFL_COLLECTOR_CORE_DEVICE_TABLE_H
#define GPUFL_COLLECTOR_CORE_DEVICE_TABLE_H

#define DEVICE_TABLE_MAX  128u
#define DEVICE_UUID_BYTES 96u

/** Zero-initialise. */
struct device_table {
    unsigned count;
    char uuid[DEVICE_TABLE_MAX][DEVICE_UUID_BYTES];
};

/** The number of the device \p uuid, which is added if it is new; its prefix, which tells
 * the kind of device, is not compared. DEVICE_TABLE_MAX if the table is full. */
unsigned device_table_id(struct device_table *table, const char *uuid);

/** Adds a device, even if another one has its UUID. */
unsigned device_table_add(struct device_table *table, const char *uuid);

#endif
