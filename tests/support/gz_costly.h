/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed files that take long to decode and hold little. */
#ifndef GPUFL_TESTS_GZ_COSTLY_H
#define GPUFL_TESTS_GZ_COSTLY_H

/** Empty blocks behind each line come in groups of so many, of so many bytes. */
#define GZ_COSTLY_GROUP       8u
#define GZ_COSTLY_GROUP_BYTES 92u

/** Makes `<dir>/<name>`: a member that holds \p line \p lines times, which is a string of
 * at most 64 KiB, with \p groups groups of empty blocks behind each, all of which have
 * Huffman tables of their own. */
void gz_costly_make(const char *dir, const char *name, const char *line, unsigned lines,
                    unsigned groups);

#endif
