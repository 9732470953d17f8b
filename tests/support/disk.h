/* SPDX-License-Identifier: Apache-2.0 */
/* A disk that fails, and that forgets what was not synced. Behind it is a real directory:
 * calls go through, or fail as kernels fail; a power loss puts the state directory back
 * to what syncs had promised, and may bring deleted files back. */
#ifndef GPUFL_TESTS_DISK_H
#define GPUFL_TESTS_DISK_H

#include "base/sys.h"

/** What a crash leaves. */
enum disk_loss {
    DISK_KEEPS,   /**< the process died, the kernel lives: every write is there */
    DISK_FORGETS, /**< every write and name that was not synced is gone */
    DISK_TEARS,   /**< of what was not synced a part is there, the rest is zeros */
    DISK_LOSS_KINDS,
};

/** The calls. now_ms and wall_s are the real ones, random follows pick.h. */
extern const struct sys disk_sys;

/** Begins anew with `<root>/.gpufl-agent` as state directory, and no faults. */
void disk_open(const char *root);
void disk_close(void);

/** From now on so many calls in a hundred fail: ENOSPC, EDQUOT, EIO, EMFILE, EINTR, short
 * reads and writes, syncs that fail and lose what they should have written. */
void disk_faults(unsigned percent);
unsigned disk_fault_percent(void);

/** Takes down what the disk would hold after a crash now. Then close what is open, and
 * call disk_restore: the disk is as it was taken down. */
void disk_crash(enum disk_loss loss);
void disk_restore(void);

#endif
