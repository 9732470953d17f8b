/* SPDX-License-Identifier: Apache-2.0 */
/* The id that the kernel draws at each boot. */
#ifndef GPUFL_BASE_BOOT_ID_H
#define GPUFL_BASE_BOOT_ID_H

#define BOOT_ID_TEXT 40

/** Tells the id of this boot, which is read once; "" = unknown. */
void boot_id_get(char out[BOOT_ID_TEXT]);

#endif
