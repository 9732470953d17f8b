/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for the frames in flight. A frame from malloc, up to a quarter of a megabyte,
 * would be mapped, touched page by page and unmapped again, which costs a tenth of
 * compressing it. Here the pages stay mapped. */
#ifndef GPUFL_UPLOAD_CORE_FRAMES_H
#define GPUFL_UPLOAD_CORE_FRAMES_H

#include <stddef.h>

/** One stretch of memory, handed out first fit; used by one thread. */
struct frames;

/** \p cap: bytes of address space; memory is taken as it is used. \return NULL without
 * memory. */
struct frames *frames_open(size_t cap);
void frames_close(struct frames *frames);

/** \return \p len bytes, from malloc when they do not fit in; NULL without memory. */
void *frames_take(struct frames *frames, size_t len);

/** Gives back what frames_take returned. When nothing is in use any more, most of the
 * memory goes back to the kernel. */
void frames_give(struct frames *frames, void *frame);

#endif
