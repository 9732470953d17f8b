/* SPDX-License-Identifier: Apache-2.0 */
/* One server uses a database file at a time. */
#ifndef GPUFL_BACKEND_STORE_STORE_LOCK_H
#define GPUFL_BACKEND_STORE_STORE_LOCK_H

/** Opens \p path, or creates it, and locks it. \return the descriptor, which holds the
 * lock and must outlive all of SQLite's: closing it drops SQLite's own locks; or -1 with
 * one line in \p why. */
int store_lock(const char *path, char why[256]);

#endif
