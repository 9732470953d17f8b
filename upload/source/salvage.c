/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the first file of `.tmp` one step closer to being published. */
#include "upload/source/salvage.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "upload/source/salvage_stock.h"
#include "upload/source/scan.h"

struct salvage {
    const struct salvage_place *place;
    struct salvage_dirs dirs;
    struct salvage_stock stock;
    size_t left;              /* files for a person to look at */
    const char *left_channel; /* whose later files wait behind such a one */
};

static enum salvage_result delete_tmp(const struct salvage *s,
                                      const struct tmp_file *file)
{
    const struct sys *sys = s->place->sys;
    return sys->unlinkat(s->dirs.tmp, file->name, 0) == 0 ? SALVAGE_STEP : SALVAGE_FAILED;
}

/* Neither a raw nor a sound window: its lines are lost. Says so before it deletes it. */
static enum salvage_result mark_lost(const struct salvage *s, const struct tmp_file *file)
{
    if (!salvage_mark_loss(s->place, &s->dirs, file->channel, file->number,
                           "empty_gzip_no_raw")) {
        return SALVAGE_FAILED;
    }
    return delete_tmp(s, file);
}

static enum salvage_result publish_gz(const struct salvage *s,
                                      const struct tmp_file *file)
{
    const struct tmp_file *raw = salvage_stock_twin(&s->stock, file, TMP_RAW);
    gpufl_status status = salvage_check(s->place, s->dirs.tmp, file->name);
    if (status == GPUFL_OK) {
        return raw ? delete_tmp(s, raw)
                   : salvage_publish(s->place, &s->dirs, file->channel, file->number);
    }
    if (status != GPUFL_ERR_FORMAT) {
        return status == GPUFL_BUSY ? SALVAGE_MORE : SALVAGE_FAILED;
    }
    if (raw && !raw->empty) {
        return delete_tmp(s, file); /* to be compressed again */
    }
    return file->empty ? mark_lost(s, file) : SALVAGE_LEFT;
}

/* The active file becomes the window behind the last one there ever was. */
static enum salvage_result retire_active(const struct salvage *s,
                                         const struct tmp_file *file)
{
    const struct salvage_place *place = s->place;
    struct scan scan;
    char name[LAYOUT_PATH_MAX];
    if (scan_directory(place->sys, s->dirs.session, place->id, &scan) != GPUFL_OK) {
        return SALVAGE_FAILED;
    }
    const struct scan_channel *published = scan_find_channel(&scan, file->channel);
    uint32_t highest = published ? published->highest : 0;
    for (size_t i = 0; i < s->stock.files; i++) {
        const struct tmp_file *f = &s->stock.file[i];
        if (f->kind != TMP_ACTIVE && f->number > highest &&
            strcmp(f->channel, file->channel) == 0) {
            highest = f->number;
        }
    }
    layout_numbered(name, file->channel, highest + 1, false);
    return place->sys->renameat(s->dirs.tmp, file->name, s->dirs.tmp, name) == 0
               ? SALVAGE_STEP
               : SALVAGE_FAILED;
}

/* What was written of a window when its writer, or a salvage, ended. */
static enum salvage_result drop_part(const struct salvage *s, const struct tmp_file *file)
{
    if (!salvage_stock_twin(&s->stock, file, TMP_RAW) &&
        !salvage_stock_twin(&s->stock, file, TMP_GZ)) {
        return SALVAGE_LEFT;
    }
    return salvage_packs_elsewhere(s->place->sys, s->dirs.tmp, file->name)
               ? SALVAGE_BUSY
               : delete_tmp(s, file);
}

/* The part of the window that this salvage is compressing. */
static bool is_being_packed(const struct salvage *s, const struct tmp_file *file)
{
    return file->kind == TMP_PART && salvage_stock_twin(&s->stock, file, TMP_RAW) &&
           !salvage_stock_twin(&s->stock, file, TMP_GZ) &&
           salvage_packs(s->place->readings, s->dirs.tmp, file->name);
}

static enum salvage_result step_file(const struct salvage *s, const struct tmp_file *file)
{
    bool waits = s->left_channel && strcmp(s->left_channel, file->channel) == 0;
    switch (file->kind) {
    case TMP_PART:
        return drop_part(s, file);
    case TMP_GZ:
        return waits ? SALVAGE_LEFT : publish_gz(s, file);
    case TMP_RAW:
        if (file->empty) {
            return delete_tmp(s, file);
        }
        return waits ? SALVAGE_LEFT
                     : salvage_compress(s->place, &s->dirs, file->channel, file->number);
    case TMP_ACTIVE:
        if (file->empty) {
            return delete_tmp(s, file);
        }
        return waits ? SALVAGE_LEFT : retire_active(s, file);
    case TMP_UNKNOWN:
        break;
    }
    return SALVAGE_LEFT;
}

/* Whoever may rename directories could make the session of another user the `.tmp` of
 * his own. */
static bool has_one_owner(struct salvage *s)
{
    struct stat session, tmp;
    if (fstat(s->dirs.session, &session) < 0 || fstat(s->dirs.tmp, &tmp) < 0) {
        return false;
    }
    s->stock.owner = session.st_uid;
    return tmp.st_uid == session.st_uid || tmp.st_uid == geteuid();
}

/* Those that are few are listed whatever others have left: only long ones wait. */
static enum salvage_result salvage_list(struct salvage *s)
{
    bool many = *s->place->lists_many;
    s->stock.limit = many ? SALVAGE_NAMES_MAX : SALVAGE_NAMES_FEW;
    if (!salvage_stock_take(&s->stock, s->dirs.tmp)) {
        return SALVAGE_FAILED;
    }
    *s->place->there = s->stock.disk_bytes;
    *s->place->lists_many = many && s->stock.files <= SALVAGE_NAMES_FEW;
    return s->stock.foreign    ? SALVAGE_FOREIGN
           : !s->stock.crowded ? SALVAGE_STEP
           : many              ? SALVAGE_CROWDED
                               : SALVAGE_MORE;
}

static enum salvage_result salvage_next(struct salvage *s)
{
    if (!has_one_owner(s)) {
        return SALVAGE_FOREIGN;
    }
    enum salvage_result listed = salvage_list(s);
    if (listed != SALVAGE_STEP) {
        return listed;
    }
    for (size_t i = 0; i < s->stock.files; i++) {
        const struct tmp_file *file = &s->stock.file[i];
        if (is_being_packed(s, file)) {
            continue;
        }
        enum salvage_result result = step_file(s, file);
        if (result == SALVAGE_STEP) {
            log_info(s->place->log, "salvage.step", "session=%s file=%.100s",
                     s->place->id, file->kind == TMP_UNKNOWN ? "?" : file->name);
        }
        if (result != SALVAGE_LEFT) {
            return result;
        }
        s->left++;
        s->left_channel = file->kind == TMP_UNKNOWN ? NULL : file->channel;
    }
    if (s->left) {
        return SALVAGE_LEFT;
    }
    return s->place->sys->unlinkat(s->dirs.session, LAYOUT_TMP_DIR, AT_REMOVEDIR) == 0
               ? SALVAGE_DONE
               : SALVAGE_FAILED;
}

/* Both are -1 while they are not held. */
struct salvage_locks {
    int writers;
    int own; /* on a file that is removed when it is released */
};

static bool lock_as(int fd, short type)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

static bool is_held(int error)
{
    return error == EAGAIN || error == EACCES;
}

/* Another salvage may have removed the file after it was opened here. */
static bool has_name(int session, const char *name, int fd)
{
    struct stat ours, named;
    return fstat(fd, &ours) == 0 &&
           fstatat(session, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           named.st_dev == ours.st_dev && named.st_ino == ours.st_ino;
}

/* Of a file that no other user can open. */
static int lock_own(const struct salvage_place *place, int session, bool *busy)
{
    const struct sys *sys = place->sys;
    int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK;
    int fd =
        sys->open_beneath(session, LAYOUT_SALVAGE_LOCK, flags | O_CREAT | O_EXCL, 0600);
    if (fd < 0 && errno == EEXIST) {
        fd = sys->open_beneath(session, LAYOUT_SALVAGE_LOCK, flags, 0);
    }
    if (fd < 0) {
        return -1;
    }
    bool locked = lock_as(fd, F_WRLCK);
    *busy = !locked && is_held(errno);
    if (locked && !has_name(session, LAYOUT_SALVAGE_LOCK, fd)) {
        locked = false;
        *busy = true;
    }
    if (!locked) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Takes the writer's own lock, which keeps it and other salvagers out. Any user who can
 * read the file can lock it for reading. We then do so, too, which still keeps out
 * whoever wants it for writing, and a lock of our own keeps out a salvage that does the
 * same. */
static bool lock_session(const struct salvage_place *place, int session,
                         struct salvage_locks *locks, bool *busy)
{
    int fd = place->sys->open_beneath(session, LAYOUT_LOCK,
                                      O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);
    locks->writers = fd;
    if (fd < 0 || lock_as(fd, F_WRLCK)) {
        return fd >= 0;
    }
    if (!is_held(errno)) {
        return false;
    }
    if (!lock_as(fd, F_RDLCK)) {
        *busy = is_held(errno);
        return false;
    }
    locks->own = lock_own(place, session, busy);
    return locks->own >= 0;
}

/* The locks are released explicitly: a child forked meanwhile has the descriptors, too.
 */
static void close_all(struct salvage *s, const struct salvage_locks *locks)
{
    if (locks->own >= 0) {
        s->place->sys->unlinkat(s->dirs.session, LAYOUT_SALVAGE_LOCK, 0);
        lock_as(locks->own, F_UNLCK);
    }
    if (locks->writers >= 0) {
        lock_as(locks->writers, F_UNLCK);
    }
    const int fds[] = {s->dirs.tmp, s->dirs.session, locks->own, locks->writers};
    for (unsigned i = 0; i < sizeof fds / sizeof fds[0]; i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
    salvage_stock_fini(&s->stock);
}

enum salvage_result salvage_step(const struct salvage_place *place)
{
    const struct sys *sys = place->sys;
    struct salvage s = {.place = place, .dirs = {.tmp = -1}};
    enum salvage_result result = SALVAGE_FAILED;
    struct salvage_locks locks = {.writers = -1, .own = -1};
    bool busy = false;
    bool locked = false;
    s.dirs.session =
        sys->open_beneath(place->root, place->path, O_RDONLY | O_DIRECTORY, 0);
    if (s.dirs.session >= 0) {
        locked = lock_session(place, s.dirs.session, &locks, &busy);
    }
    if (locked) {
        s.dirs.tmp =
            sys->open_beneath(s.dirs.session, LAYOUT_TMP_DIR, O_RDONLY | O_DIRECTORY, 0);
    }
    if (s.dirs.tmp >= 0) {
        result = salvage_next(&s);
    } else if (locked && errno == ENOENT) {
        result = SALVAGE_DONE;
    }
    close_all(&s, &locks);
    return busy ? SALVAGE_BUSY : result;
}
