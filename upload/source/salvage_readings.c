/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the reading that is under way, and the results of those before it. */
#include "upload/source/salvage_readings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"

/* By which a file, as it is, is known again in a later step. The time of its change,
 * unlike that of its modification, nobody can set. */
struct salvage_file {
    dev_t device;
    ino_t inode;
    off_t bytes;
    int64_t changed_s;
    int64_t changed_ns;
};

struct salvage_finding {
    enum gz_task task;
    struct salvage_file file;
    struct salvage_file other;
    gpufl_status status;
    struct gz_measure measure;
};

struct salvage_readings {
    struct salvage_finding *found;
    size_t count;
    size_t cap;
    struct gz_file *file;       /* under way, or NULL */
    struct salvage_finding now; /* what that is about */
    int part;                   /* what it writes, locked; -1 = nothing */
};

struct salvage_readings *salvage_readings_new(void)
{
    struct salvage_readings *r = calloc(1, sizeof *r);
    if (r) {
        r->part = -1;
    }
    return r;
}

/* The lock is released explicitly: a child forked meanwhile has the descriptor, too. */
static void salvage_reading_end(struct salvage_readings *r)
{
    struct flock free_again = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    gz_file_close(r->file);
    r->file = NULL;
    if (r->part >= 0) {
        fcntl(r->part, F_OFD_SETLK, &free_again);
        close(r->part);
        r->part = -1;
    }
}

void salvage_readings_free(struct salvage_readings *r)
{
    if (r) {
        salvage_reading_end(r);
        free(r->found);
        free(r);
    }
}

static bool salvage_identify(int fd, struct salvage_file *out)
{
    struct stat st;
    *out = (struct salvage_file){0};
    if (fd < 0) {
        return true;
    }
    if (fstat(fd, &st) < 0) {
        return false;
    }
    *out = (struct salvage_file){.device = st.st_dev,
                                 .inode = st.st_ino,
                                 .bytes = st.st_size,
                                 .changed_s = st.st_ctim.tv_sec,
                                 .changed_ns = st.st_ctim.tv_nsec};
    return true;
}

static bool salvage_is_file(const struct salvage_file *a, const struct salvage_file *b)
{
    return a->device == b->device && a->inode == b->inode && a->bytes == b->bytes &&
           a->changed_s == b->changed_s && a->changed_ns == b->changed_ns;
}

static bool salvage_is_about(const struct salvage_finding *a,
                             const struct salvage_finding *b)
{
    return a->task == b->task && salvage_is_file(&a->file, &b->file) &&
           salvage_is_file(&a->other, &b->other);
}

static const struct salvage_finding *salvage_find(const struct salvage_readings *r,
                                                  const struct salvage_finding *asked)
{
    for (size_t i = 0; i < r->count; i++) {
        if (salvage_is_about(&r->found[i], asked)) {
            return &r->found[i];
        }
    }
    return NULL;
}

/* Only what the files themselves say is kept: what failed may work later. */
static gpufl_status salvage_keep(struct salvage_readings *r, gpufl_status status)
{
    r->now.status = status;
    r->now.measure = gz_file_measure(r->file);
    salvage_reading_end(r);
    if (status != GPUFL_OK && status != GPUFL_ERR_FORMAT) {
        return status;
    }
    struct salvage_finding *more =
        array_grown(r->found, r->count, &r->cap, sizeof *r->found);
    if (!more) {
        return GPUFL_ERR_NOMEM;
    }
    r->found = more;
    r->found[r->count++] = r->now;
    return status;
}

static bool salvage_reading_begin(struct salvage_readings *r,
                                  const struct salvage_finding *asked)
{
    salvage_reading_end(r);
    r->now = *asked;
    r->file = gz_file_open(asked->task);
    return r->file != NULL;
}

gpufl_status salvage_read(struct salvage_readings *r, const struct sys *sys,
                          struct salvage_reading *of, size_t *budget)
{
    struct salvage_finding asked = {.task = of->task};
    if (!salvage_identify(of->fd, &asked.file) ||
        !salvage_identify(of->other, &asked.other)) {
        return GPUFL_ERR_IO;
    }
    const struct salvage_finding *known = salvage_find(r, &asked);
    if (known) {
        of->result = known->measure;
        return known->status;
    }
    if ((!r->file || !salvage_is_about(&r->now, &asked)) &&
        !salvage_reading_begin(r, &asked)) {
        return GPUFL_ERR_NOMEM;
    }
    gpufl_status status = gz_file_step(r->file, sys, of->fd, of->other, budget);
    if (status == GPUFL_BUSY) {
        return status;
    }
    status = salvage_keep(r, status);
    of->result = r->now.measure;
    return status;
}

bool salvage_packs(const struct salvage_readings *r, int dir, const char *name)
{
    struct stat ours;
    struct stat st;
    return r->part >= 0 && fstat(r->part, &ours) == 0 &&
           fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           st.st_dev == ours.st_dev && st.st_ino == ours.st_ino;
}

bool salvage_packs_elsewhere(const struct sys *sys, int dir, const char *name)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    int fd = file_open(sys, dir, name);
    bool locked = fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    if (fd >= 0) {
        close(fd);
    }
    return locked;
}

/* Whoever can open it could lock it before we do. Locked, it gets the mode of the file
 * whose lines it has, where the file system has modes. */
static bool salvage_lock_part(const struct salvage_readings *r, int raw)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct stat st;
    if (fstat(raw, &st) < 0 || fcntl(r->part, F_OFD_SETLK, &lock) < 0) {
        return false;
    }
    (void)fchmod(r->part, st.st_mode & 0666);
    return true;
}

static gpufl_status salvage_pack_begin(struct salvage_readings *r, const struct sys *sys,
                                       const struct salvage_part *part,
                                       const struct salvage_finding *asked)
{
    if (!salvage_reading_begin(r, asked)) {
        return GPUFL_ERR_NOMEM;
    }
    r->part = file_create(sys, part->dir, part->name, 0600);
    if (r->part < 0 || !salvage_lock_part(r, part->raw)) {
        salvage_reading_end(r);
        return GPUFL_ERR_IO;
    }
    return GPUFL_OK;
}

gpufl_status salvage_pack(struct salvage_readings *r, const struct sys *sys,
                          const struct salvage_part *part, size_t *budget)
{
    struct salvage_finding asked = {.task = GZ_COMPRESS};
    gpufl_status status = GPUFL_OK;
    if (!salvage_identify(part->raw, &asked.file)) {
        return GPUFL_ERR_IO;
    }
    if (!r->file || !salvage_is_about(&r->now, &asked) ||
        !salvage_packs(r, part->dir, part->name)) {
        status = salvage_pack_begin(r, sys, part, &asked);
    }
    if (status == GPUFL_OK) {
        status = gz_file_step(r->file, sys, part->raw, r->part, budget);
    }
    if (status != GPUFL_BUSY) {
        salvage_reading_end(r);
    }
    return status;
}
