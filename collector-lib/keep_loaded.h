/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin that contains the library is not unloaded. */
#ifndef GPUFL_COLLECTOR_KEEP_LOADED_H
#define GPUFL_COLLECTOR_KEEP_LOADED_H

/** Only in a constructor, where the thread has the loader's lock: threads that have
 * recorded, those of ours and CUPTI call code of ours for as long as the process lives.
 * libgpufl.so is linked so. */
void keep_loaded(void);

#endif
