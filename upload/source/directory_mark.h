/* SPDX-License-Identifier: Apache-2.0 */
/* Tells whether a directory is one that was seen before under another path. */
#ifndef GPUFL_UPLOAD_SOURCE_DIRECTORY_MARK_H
#define GPUFL_UPLOAD_SOURCE_DIRECTORY_MARK_H

#include <stdint.h>

/** \return a number that stands for the directory at `<root>/<path>`, its owner and this
 * boot, whatever its path; 0 if the file system does not tell enough: numbers of inodes
 * are used again, so without the time of birth nothing is known. */
uint64_t directory_mark(int root, const char *path);

#endif
