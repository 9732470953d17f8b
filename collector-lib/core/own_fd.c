/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises a file by its device and inode. */
#include "collector-lib/core/own_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOWEST 500

static __thread bool is_apart;

void own_fd_set_apart(void)
{
    is_apart = true;
}

bool own_fd_is_apart(void)
{
    return is_apart;
}

static bool names(const struct own_fd *own, int fd)
{
    struct stat st;
    return fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == own->device &&
           st.st_ino == own->inode;
}

/* What the job puts under a number with dup2(2) stays open in exec(3), and copies of ours
 * do not. */
static bool is_copy_of(int copy, int low)
{
    struct stat st;
    const int flags = fcntl(copy, F_GETFD);
    const struct own_fd its = fstat(copy, &st) == 0
                                  ? (struct own_fd){copy, false, st.st_dev, st.st_ino}
                                  : (struct own_fd)OWN_FD_NONE;
    return its.fd >= 0 && flags >= 0 && flags & FD_CLOEXEC && names(&its, low);
}

/* Until it has its high number, the job may close the low one, and open its own file
 * there, of which the copy is then; and it may take the high one with dup2(2). What is
 * the job's is left to it: of what cannot be told, a copy stays open. */
static void move_up(struct own_fd *own, int lowest)
{
    int low = own->fd;
    int high = fcntl(low, F_DUPFD_CLOEXEC, lowest);
    if (high < 0) { /* beyond the limit of the process */
        return;
    }
    bool moved = names(own, high);
    own->fd = moved ? high : -1;
    if (names(own, low)) {
        close(low);
    } else if (!moved && is_copy_of(high, low)) {
        close(high);
    }
}

/* Nobody else can reach a table of our own. */
bool own_fd_is_ours(const struct own_fd *own)
{
    return own->apart == is_apart && own->fd >= 0 && (is_apart || names(own, own->fd));
}

/* Foreign code writes to the numbers of the standard files. */
static int above_standard(int fd)
{
    int above = fd;
    if (fd >= 0 && fd <= STDERR_FILENO) {
        above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        close(fd);
    }
    return above;
}

/* There, no number needs to be high, nor to be looked at. */
static bool take_apart(struct own_fd *own, int fd)
{
    struct stat st;
    int saved = errno;
    fd = above_standard(fd);
    if (fd >= 0 && fstat(fd, &st) == 0) {
        *own = (struct own_fd){fd, true, st.st_dev, st.st_ino};
        errno = saved;
    } else if (fd >= 0) {
        saved = errno;
        close(fd);
        errno = saved;
    }
    return own->fd >= 0;
}

/* What has the name is ours, whatever file has the number by now. */
static bool own_fd_take_named_above(struct own_fd *own, int fd, int dir, const char *name,
                                    int lowest)
{
    struct stat st;
    int saved = errno;
    *own = (struct own_fd)OWN_FD_NONE;
    if (is_apart || fd < 0) {
        return take_apart(own, fd);
    }
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        *own = (struct own_fd){fd, false, st.st_dev, st.st_ino};
    }
    if (own_fd_is_ours(own)) {
        move_up(own, lowest);
    } else {
        own->fd = -1;
    }
    errno = own->fd >= 0 ? saved : EBADF;
    return own->fd >= 0;
}

/* Where fstat(2) says EBADF, the job has closed it: what is there next is the job's. */
static bool own_fd_take_above(struct own_fd *own, int fd, int lowest)
{
    struct stat st;
    int saved = errno;
    *own = (struct own_fd)OWN_FD_NONE;
    if (is_apart || fd < 0) {
        return take_apart(own, fd);
    }
    if (fstat(fd, &st) == 0) {
        *own = (struct own_fd){fd, false, st.st_dev, st.st_ino};
        move_up(own, lowest);
        errno = own->fd >= 0 ? saved : EBADF;
    } else if (errno != EBADF) {
        saved = errno;
        close(fd);
        errno = saved;
    }
    return own->fd >= 0;
}

bool own_fd_take(struct own_fd *own, int fd)
{
    return own_fd_take_above(own, fd, LOWEST);
}

bool own_fd_take_briefly(struct own_fd *own, int fd)
{
    if (is_apart) { /* which file it is matters to nobody */
        *own = (struct own_fd){.fd = fd, .apart = true};
        return fd >= 0;
    }
    return own_fd_take_above(own, fd, OWN_FD_BRIEF_LOWEST);
}

bool own_fd_take_named(struct own_fd *own, int fd, int dir, const char *name)
{
    return own_fd_take_named_above(own, fd, dir, name, LOWEST);
}

bool own_fd_take_named_briefly(struct own_fd *own, int fd, int dir, const char *name)
{
    return own_fd_take_named_above(own, fd, dir, name, OWN_FD_BRIEF_LOWEST);
}

ssize_t own_fd_write(const struct own_fd *own, const char *bytes, size_t len)
{
    if (!own_fd_is_ours(own)) {
        errno = EBADF;
        return -1;
    }
    return write(own->fd, bytes, len);
}

ssize_t own_fd_pwrite(const struct own_fd *own, const char *bytes, size_t len, off_t at)
{
    if (!own_fd_is_ours(own)) {
        errno = EBADF;
        return -1;
    }
    return pwrite(own->fd, bytes, len, at);
}

/* Another file is not opened: it could not be told from one that the job has put there
 * just now, and would be left open as that is. */
bool own_fd_reopen(struct own_fd *own, int dir, const char *name, int flags)
{
    struct stat st;
    own->fd = -1;
    if (fstatat(dir, name, &st, flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0) == 0 &&
        st.st_dev == own->device && st.st_ino == own->inode) {
        own->fd = openat(dir, name, flags | O_CLOEXEC);
        if (own_fd_is_ours(own)) {
            move_up(own, LOWEST);
        } else {
            own->fd = -1;
        }
    }
    return own->fd >= 0;
}

void own_fd_close(struct own_fd *own)
{
    if (own_fd_is_ours(own)) {
        close(own->fd);
    }
    own->fd = -1;
}

DIR *own_fd_read_dir(struct own_fd *own, int fd)
{
    DIR *dir = own_fd_take_briefly(own, fd) ? fdopendir(own->fd) : NULL;
    if (!dir) {
        int saved = errno;
        own_fd_close(own);
        errno = saved;
    }
    return dir;
}

/* closedir(3) closes the number, whosever it is now. Else its memory is lost, which costs
 * less. */
void own_fd_end_dir(struct own_fd *own, DIR *dir)
{
    int saved = errno;
    if (own_fd_is_ours(own)) {
        closedir(dir);
    }
    own->fd = -1;
    errno = saved;
}

/* Behind the first files of the job, and below the limit that it may set later: what is
 * given back must be a number that it allows. */
#define SPARE_LOWEST 20

void spare_fds_take(struct spare_fds *spare)
{
    int saved = errno;
    int ends[SPARE_FDS];
    bool lacks = false;
    for (int i = 0; i < SPARE_FDS; i++) {
        lacks = lacks || !own_fd_is_ours(&spare->own[i]);
    }
    if (lacks) {
        spare_fds_close(spare);
        if (pipe2(ends, O_CLOEXEC) == 0) {
            for (int i = 0; i < SPARE_FDS; i++) {
                own_fd_take_above(&spare->own[i], ends[i], SPARE_LOWEST);
            }
        }
    }
    errno = saved;
}

void spare_fds_close(struct spare_fds *spare)
{
    for (int i = 0; i < SPARE_FDS; i++) {
        own_fd_close(&spare->own[i]);
    }
}
