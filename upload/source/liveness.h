/* SPDX-License-Identifier: Apache-2.0 */
/* Tells whether the process that writes a session directory is still alive. */
#ifndef GPUFL_UPLOAD_SOURCE_LIVENESS_H
#define GPUFL_UPLOAD_SOURCE_LIVENESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sys.h"
#include "upload/source/identity.h"

enum liveness {
    WRITER_LIVE, /**< holds its lock, or its pid exists on this boot */
    WRITER_GONE,
    WRITER_UNKNOWN, /**< no lock file, no permission, another machine or boot */
};

/** Probes the lock file beneath \p dir (`<session>/.gpufl-session.lock`) without ever
 * taking it; where that is inconclusive, the pid of \p manifest (NULL = not read). A free
 * lock proves death where locks reach all of the host, and the writer was of this boot
 * and the lock is its own, not that of a copy, or its process has ended; or nothing was
 * written since it (\p last_write_s, seconds since 1970, 0 = not known). Of a writer that
 * has told that it lost its lock, the process alone is asked. */
enum liveness liveness_probe(const struct sys *sys, int dir, const char *lock_path,
                             const struct manifest *manifest, int64_t last_write_s);

/** True if locks on a file system of that type (statfs(2)) reach all of the host. */
bool liveness_locks_are_local(long file_system);

/** True when this process has `<dir>/<lock_path>` open: then the writer is in this
 * process, and the file must not be probed, because a process loses its POSIX locks on a
 * file when it closes any descriptor of it. Checks every descriptor of the process, and
 * of the thread that has the files of a session. */
bool liveness_is_open_here(int dir, const char *lock_path);

#endif
