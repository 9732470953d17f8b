/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for the frames that are on their way. A frame from malloc is as large as a
 * quarter of a megabyte, is mapped, touched page by page and unmapped again: a tenth of
 * what compressing it costs. Here its pages stay. */
#ifndef GPUFL_UPLOAD_CORE_FRAMES_H
#define GPUFL_UPLOAD_CORE_FRAMES_H

#include <stddef.h>

/** One stretch of memory, handed out first fit; used by one thread. */
struct frames;

/** \p cap: bytes of address space; memory is taken as it is used. NULL without memory. */
struct frames *frames_open(size_t cap);
void frames_close(struct frames *frames);

/** \return \p len bytes, from malloc when they do not fit in; NULL without memory. */
void *frames_take(struct frames *frames, size_t len);

/** Gives back what frames_take returned. When nothing is out any more, the kernel gets
 * the memory back, but for a little. */
void frames_give(struct frames *frames, void *frame);

#endif
