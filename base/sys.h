/* SPDX-License-Identifier: Apache-2.0 */
/* The interface to the kernel: clock, randomness and the calls that change state on disk.
 * Tests replace single members to inject faults and to control time. */
#ifndef GPUFL_BASE_SYS_H
#define GPUFL_BASE_SYS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct statfs;

struct sys {
    /** Milliseconds that never jump and include suspended time (CLOCK_BOOTTIME). */
    uint64_t (*now_ms)(void);
    /** Seconds since 1970, to show; never to wait. */
    int64_t (*wall_s)(void);
    /** Fills \p out from getrandom(2). */
    void (*random)(void *out, size_t len);
    /** openat2(2) beneath \p dir: no symlink, no `..`, no mount trick; O_CLOEXEC is
     * added. */
    int (*open_beneath)(int dir, const char *path, int flags, mode_t mode);
    ssize_t (*pread)(int fd, void *buf, size_t len, off_t at);
    ssize_t (*pwrite)(int fd, const void *buf, size_t len, off_t at);
    int (*fdatasync)(int fd);
    int (*fsync)(int fd);
    int (*renameat)(int from_dir, const char *from, int to_dir, const char *to);
    int (*unlinkat)(int dir, const char *path, int flags);
    int (*fstatfs)(int fd, struct statfs *out);
    /** The time of change of an open file, ns since 1970, if it is sure to be another one
     * after the next change; 0 = it is not. */
    int64_t (*unchanged_since)(int fd);
};

/** The real calls. */
extern const struct sys sys_real;

#endif
