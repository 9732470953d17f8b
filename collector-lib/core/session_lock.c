/* SPDX-License-Identifier: Apache-2.0 */
/* An open-file-description lock: closing another descriptor of the file in this process
 * (a reader, gpufl_upload_logs) does not release it, unlike a POSIX record lock. */
#include "collector-lib/core/session_lock.h"

#include <errno.h>
#include <fcntl.h>

#include "schema/layout.h"

static int lock_file(const struct session_lock *lock)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(lock->file.fd, F_OFD_SETLK, &whole);
}

/* NFS without lockd, Lustre without flock, FUSE. */
static bool are_no_locks(int error)
{
    return error == ENOSYS || error == ENOLCK || error == EOPNOTSUPP || error == EINVAL;
}

int session_lock_take(struct session_lock *lock, int dir)
{
    int fd = openat(dir, LAYOUT_LOCK, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (!own_fd_take(&lock->file, fd)) {
        return -1;
    }
    lock->held = lock_file(lock) == 0;
    lock->refused = lock->held ? 0 : errno;
    return lock->held || are_no_locks(errno) ? 0 : -1;
}

void session_lock_mend(struct session_lock *lock, int dir)
{
    if (!own_fd_is_ours(&lock->file) &&
        own_fd_replace(&lock->file,
                       openat(dir, LAYOUT_LOCK, O_RDWR | O_NOFOLLOW | O_CLOEXEC)) &&
        lock->held) {
        lock_file(lock);
    }
}
