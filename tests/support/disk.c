/* SPDX-License-Identifier: Apache-2.0 */
/* A disk that fails and forgets. */
#include "tests/support/disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "tests/support/check.h"
#include "tests/support/pick.h"

#define INODES_MAX  4096
#define NAMES_MAX   64
#define DELETED_MAX 32

/* What of a file is on disk. */
struct image {
    ino_t ino;
    char *data;
    size_t len;
    bool lost; /* a sync failed: the kernel has dropped the pages, later syncs say nothing
                */
};

struct name {
    char text[256];
    ino_t ino;
    struct image *image;
    char *data; /* as it will be restored */
    size_t len;
};

struct deleted {
    char path[1024];
    char *data;
    size_t len;
};

static struct {
    char state_dir[1024];
    unsigned percent;
    struct image image[INODES_MAX];
    unsigned images;
    struct name name[NAMES_MAX]; /* entries that a sync of the directory promised */
    unsigned names;
    struct deleted deleted[DELETED_MAX];
    unsigned deletes;
    enum disk_loss loss;
    bool crashed; /* what is synced from now on, until disk_restore, came too late */
} disk;

/* ---- reading what is there ---- */

static char *read_fd(int fd, size_t *len)
{
    char path[64];
    struct stat st;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int again = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(again >= 0 && fstat(again, &st) == 0);
    char *data = malloc((size_t)st.st_size + 1);
    *len = (size_t)pread(again, data, (size_t)st.st_size, 0);
    close(again);
    return data;
}

static char *read_path(const char *path, size_t *len)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *data = fd >= 0 ? read_fd(fd, len) : NULL;
    if (fd >= 0) {
        close(fd);
    }
    return data;
}

static struct image *image_of(ino_t ino, bool make)
{
    for (unsigned i = disk.images; i-- > 0;) {
        if (disk.image[i].ino == ino) {
            return &disk.image[i];
        }
    }
    if (!make) {
        return NULL;
    }
    assert_true(disk.images < INODES_MAX);
    disk.image[disk.images] = (struct image){.ino = ino};
    return &disk.image[disk.images++];
}

/* Calls \p each with every file of the state directory. */
static void each_name(void (*each)(const char *path, const char *name, ino_t ino))
{
    DIR *dir = opendir(disk.state_dir);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char path[1300];
        struct stat st;
        snprintf(path, sizeof path, "%s/%s", disk.state_dir, entry->d_name);
        if (stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
            each(path, entry->d_name, st.st_ino);
        }
    }
    if (dir) {
        closedir(dir);
    }
}

static void remember_name(const char *path, const char *name, ino_t ino)
{
    (void)path;
    assert_true(disk.names < NAMES_MAX);
    struct name *n = &disk.name[disk.names++];
    *n = (struct name){.ino = ino, .image = image_of(ino, true)};
    snprintf(n->text, sizeof n->text, "%s", name);
}

static void took_hold(int fd)
{
    struct stat st;
    struct stat state;
    assert_int_equal(fstat(fd, &st), 0);
    if (disk.crashed) {
        return;
    }
    if (S_ISREG(st.st_mode)) {
        struct image *image = image_of(st.st_ino, true);
        if (!image->lost) {
            free(image->data);
            image->data = read_fd(fd, &image->len);
        }
    } else if (stat(disk.state_dir, &state) == 0 && st.st_ino == state.st_ino) {
        disk.names = 0;
        each_name(remember_name);
    }
}

/* ---- the calls ---- */

static bool fails(void)
{
    return disk.percent && pick(100) < disk.percent;
}

static int refuse(int error)
{
    errno = error;
    return -1;
}

static int no_room(void)
{
    static const int errors[] = {ENOSPC, EDQUOT, EIO};
    return refuse(errors[pick(3)]);
}

static int disk_open_beneath(int dir, const char *path, int flags, mode_t mode)
{
    if (fails()) {
        static const int errors[] = {EMFILE, ENFILE, EIO};
        return flags & O_CREAT && pick(2) ? no_room() : refuse(errors[pick(3)]);
    }
    struct stat st;
    bool made = flags & O_CREAT && fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) < 0;
    int fd = sys_real.open_beneath(dir, path, flags, mode);
    struct image *image =
        fd >= 0 && fstat(fd, &st) == 0 ? image_of(st.st_ino, false) : NULL;
    if (image && made) {
        image->ino = 0; /* the number of a file that is gone: this one is new */
    } else if (image && flags & O_TRUNC) {
        image->lost = false; /* its pages will be other ones */
    }
    return fd;
}

static ssize_t disk_pread(int fd, void *buf, size_t len, off_t at)
{
    if (fails()) {
        switch (pick(3)) {
        case 0:
            return refuse(EINTR);
        case 1:
            return refuse(EIO);
        default:
            len = len > 1 ? pick(len - 1) + 1 : len; /* short */
        }
    }
    return sys_real.pread(fd, buf, len, at);
}

static ssize_t disk_pwrite(int fd, const void *buf, size_t len, off_t at)
{
    if (fails()) {
        switch (pick(3)) {
        case 0:
            return refuse(EINTR);
        case 1:
            return no_room();
        default:
            len = len > 1 ? pick(len - 1) + 1 : len;
        }
    }
    return sys_real.pwrite(fd, buf, len, at);
}

static int sync_it(int fd)
{
    struct stat st;
    if (!fails()) {
        took_hold(fd);
        return 0;
    }
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        image_of(st.st_ino, true)->lost = true;
    }
    return no_room();
}

static int disk_renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    return fails() ? no_room() : sys_real.renameat(from_dir, from, to_dir, to);
}

static int disk_unlinkat(int dir, const char *path, int flags)
{
    char from[64];
    struct deleted gone = {.data = NULL};
    if (fails()) {
        return refuse(EIO);
    }
    snprintf(from, sizeof from, "/proc/self/fd/%d", dir);
    ssize_t n = readlink(from, gone.path, sizeof gone.path - 300);
    assert_true(n > 0);
    snprintf(gone.path + n, sizeof gone.path - (size_t)n, "/%s", path);
    if (flags == 0 && !strstr(gone.path, "/.gpufl-agent/")) {
        gone.data = read_path(gone.path, &gone.len);
    }
    int rc = sys_real.unlinkat(dir, path, flags);
    if (rc == 0 && gone.data) {
        struct deleted *slot = &disk.deleted[disk.deletes++ % DELETED_MAX];
        free(slot->data);
        *slot = gone;
    } else {
        free(gone.data);
    }
    return rc;
}

/* ---- crashes ---- */

static void add_present(const char *path, const char *name, ino_t ino)
{
    remember_name(path, name, ino);
    struct name *n = &disk.name[disk.names - 1];
    n->data = read_path(path, &n->len);
}

static void forget(struct name *n)
{
    const struct image *image = n->image;
    n->len = image->len;
    n->data = malloc(n->len + 1);
    if (n->len) {
        memcpy(n->data, image->data, n->len);
    }
}

/* The file as it is now, but behind what was synced only a part of it, then zeros. */
static void tear(const char *path, const char *name, ino_t ino)
{
    (void)name;
    for (unsigned i = 0; i < disk.names; i++) {
        struct name *n = &disk.name[i];
        size_t len;
        bool there = n->ino == ino && n->image == image_of(ino, false);
        char *now = there ? read_path(path, &len) : NULL;
        if (now && len >= n->len) {
            size_t keep = n->len + pick(len - n->len + 1);
            memcpy(now, n->data, n->len);
            memset(now + keep, 0, len - keep);
            free(n->data);
            n->data = now;
            n->len = len;
        } else {
            free(now);
        }
    }
}

void disk_crash(enum disk_loss loss)
{
    disk.loss = loss;
    disk.crashed = true;
    if (loss == DISK_KEEPS) {
        disk.names = 0;
        each_name(add_present);
        return;
    }
    for (unsigned i = 0; i < disk.names; i++) {
        forget(&disk.name[i]);
    }
    if (loss == DISK_TEARS) {
        each_name(tear);
    }
}

static void delete_name(const char *path, const char *name, ino_t ino)
{
    (void)name;
    (void)ino;
    unlink(path);
}

static void write_file(const char *path, const void *data, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && pwrite(fd, data, len, 0) == (ssize_t)len);
    close(fd);
}

/* Names that were removed shortly before the crash may be there again. */
static void bring_back(void)
{
    for (unsigned i = 0; i < DELETED_MAX; i++) {
        struct deleted *d = &disk.deleted[i];
        if (d->data && pick(2) && access(d->path, F_OK) < 0) {
            write_file(d->path, d->data, d->len);
        }
        free(d->data);
        d->data = NULL;
    }
}

void disk_restore(void)
{
    disk.crashed = false;
    each_name(delete_name);
    for (unsigned i = 0; i < disk.images; i++) {
        free(disk.image[i].data);
    }
    disk.images = 0;
    for (unsigned i = 0; i < disk.names; i++) {
        struct name *n = &disk.name[i];
        char path[1300];
        struct stat st;
        snprintf(path, sizeof path, "%s/%s", disk.state_dir, n->text);
        write_file(path, n->data, n->len);
        assert_int_equal(stat(path, &st), 0);
        n->ino = st.st_ino;
        n->image = image_of(st.st_ino, true); /* a reboot starts from the disk */
        n->image->data = n->data;
        n->image->len = n->len;
        n->data = NULL;
    }
    if (disk.loss != DISK_KEEPS) {
        bring_back();
    }
}

/* ---- life ---- */

void disk_open(const char *root)
{
    disk_close();
    snprintf(disk.state_dir, sizeof disk.state_dir, "%s/.gpufl-agent", root);
}

void disk_close(void)
{
    for (unsigned i = 0; i < disk.images; i++) {
        free(disk.image[i].data);
    }
    for (unsigned i = 0; i < DELETED_MAX; i++) {
        free(disk.deleted[i].data);
    }
    memset(&disk, 0, sizeof disk);
}

void disk_faults(unsigned percent)
{
    disk.percent = percent;
}

unsigned disk_fault_percent(void)
{
    return disk.percent;
}

static uint64_t now_ms(void)
{
    return sys_real.now_ms();
}

static int64_t wall_s(void)
{
    return sys_real.wall_s();
}

static int64_t unchanged_since(int fd)
{
    return sys_real.unchanged_since(fd);
}

static void random_bytes(void *out, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        ((unsigned char *)out)[i] = (unsigned char)pick(256); /* a seed repeats it */
    }
}

const struct sys disk_sys = {
    .now_ms = now_ms,
    .wall_s = wall_s,
    .random = random_bytes,
    .open_beneath = disk_open_beneath,
    .pread = disk_pread,
    .pwrite = disk_pwrite,
    .fdatasync = sync_it,
    .fsync = sync_it,
    .renameat = disk_renameat,
    .unlinkat = disk_unlinkat,
    .fstatfs = fstatfs,
    .unchanged_since = unchanged_since,
};
