/* SPDX-License-Identifier: Apache-2.0 */
/* An open-file-description lock: closing another descriptor of the file in this process
 * (a reader, gpufl_upload_logs) does not release it, unlike a POSIX record lock. */
#include "collector-lib/core/session_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema/layout.h"

#define FILES_TRIED 32

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

/* Whoever can open the file can lock it for reading, and keep us from locking it: nobody
 * else can before we have. The directory, which was made as usual, tells the usual
 * permissions, whether the umask or a default ACL has decided them. */
static bool session_lock_show(const struct own_fd *file, int dir)
{
    struct stat of_dir;
    struct stat st;
    if (fstat(dir, &of_dir) < 0 || fstat(file->fd, &st) < 0) {
        return false;
    }
    mode_t usual = of_dir.st_mode & 0666;
    return (st.st_mode & 0666) == usual || fchmod(file->fd, usual) == 0;
}

/* Where fchmod is refused, as by FAT and some user-space file systems, the file is made
 * with the usual permissions from the start. */
int session_lock_take(struct session_lock *lock, int dir)
{
    mode_t mode = 0600;
    for (int tries = 1;; tries++) {
        int fd = openat(dir, LAYOUT_LOCK, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (!own_fd_take_named(&lock->file, fd, dir, LAYOUT_LOCK)) {
            return -1;
        }
        lock->held = lock_file(lock) == 0;
        lock->refused = lock->held ? 0 : errno;
        bool shown = session_lock_show(&lock->file, dir) || mode != 0600;
        bool of_other = !lock->held && !are_no_locks(lock->refused);
        if ((shown && !of_other) || tries == FILES_TRIED) {
            errno = lock->refused;
            return of_other ? -1 : 0;
        }
        mode = shown ? mode : 0666;
        own_fd_close(&lock->file);
        if (unlinkat(dir, LAYOUT_LOCK, 0) < 0) {
            return -1;
        }
    }
}

bool session_lock_mend(struct session_lock *lock, int dir)
{
    bool was_lost = lock->lost;
    if (!own_fd_is_ours(&lock->file)) {
        if (!own_fd_reopen(&lock->file, dir, LAYOUT_LOCK, O_RDWR | O_NOFOLLOW)) {
            return false;
        }
        lock->lost = lock->held;
    }
    lock->lost = lock->lost && lock_file(lock) < 0;
    return lock->lost != was_lost;
}
