/* SPDX-License-Identifier: Apache-2.0 */
/* Files that the job has open, of which it knows what must be in them. */
#ifndef TESTS_HOSTILE_OWN_FILES_H
#define TESTS_HOSTILE_OWN_FILES_H

#include <stdbool.h>

/** Creates them in \p folder, or, after an exec, opens them again. */
void own_files_open(const char *folder, bool again);

/** Appends the next line to the \p n-th, modulo their number, by any of its descriptors.
 * By one thread at a time. */
void own_files_append(unsigned n);

/** Puts descriptors of the files where others may have theirs. */
void own_files_spread(void);

/** Gives each file the lowest number that is free. */
void own_files_renumber(void);

bool own_files_have(int fd);

/** Whether each descriptor is open and is of its file, and each file holds its lines and
 * nothing else. */
bool own_files_are_whole(void);

#endif
