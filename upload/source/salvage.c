/* SPDX-License-Identifier: Apache-2.0 */
/* Takes stock of `.tmp` and brings its first file one step further. */
#include "upload/source/salvage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "upload/source/gz_file.h"
#include "upload/source/salvage_window.h"
#include "upload/source/scan.h"

#define PART_SUFFIX ".part"

/* In this order a channel's files are taken: by number, the active one last. */
enum tmp_kind { TMP_PART, TMP_GZ, TMP_RAW, TMP_ACTIVE, TMP_UNKNOWN };

struct tmp_file {
    char name[LAYOUT_PATH_MAX];
    char channel[LAYOUT_CHANNEL_MAX + 1];
    uint32_t number; /* UINT32_MAX for the active file */
    enum tmp_kind kind;
    bool empty;
};

struct stock {
    const struct salvage_place *place;
    struct salvage_dirs dirs;
    struct tmp_file *file;
    size_t files;
    size_t left;              /* for a person */
    const char *left_channel; /* its later files wait behind that one */
};

/* ---- taking stock ---- */

static enum tmp_kind kind_of(const char *name, struct layout_name *parsed)
{
    char stem[LAYOUT_PATH_MAX];
    size_t len = strlen(name);
    size_t suffix = sizeof PART_SUFFIX - 1;
    *parsed = layout_parse(name);
    if (parsed->kind == LAYOUT_NUMBERED) {
        return parsed->gz ? TMP_GZ : TMP_RAW;
    }
    if (parsed->kind == LAYOUT_ACTIVE && !parsed->gz) {
        return TMP_ACTIVE;
    }
    if (len > suffix && len < sizeof stem &&
        strcmp(name + len - suffix, PART_SUFFIX) == 0) {
        memcpy(stem, name, len - suffix);
        stem[len - suffix] = '\0';
        *parsed = layout_parse(stem);
        if (parsed->kind == LAYOUT_NUMBERED && parsed->gz) {
            return TMP_PART;
        }
    }
    return TMP_UNKNOWN;
}

static bool add(struct stock *stock, const char *name)
{
    struct stat st;
    struct layout_name parsed;
    struct tmp_file *more = realloc(stock->file, (stock->files + 1) * sizeof *more);
    if (!more || fstatat(stock->dirs.tmp, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        stock->file = more ? more : stock->file;
        return false;
    }
    stock->file = more;
    struct tmp_file *file = &more[stock->files++];
    *file = (struct tmp_file){.kind = TMP_UNKNOWN, .empty = st.st_size == 0};
    size_t len = strnlen(name, sizeof file->name - 1);
    memcpy(file->name, name, len);
    if (name[len] == '\0' && S_ISREG(st.st_mode)) {
        file->kind = kind_of(name, &parsed);
        strcpy(file->channel, parsed.channel);
        file->number = file->kind == TMP_ACTIVE ? UINT32_MAX : parsed.number;
    }
    return true;
}

static int by_turn(const void *left, const void *right)
{
    const struct tmp_file *a = left;
    const struct tmp_file *b = right;
    int channels = strcmp(a->channel, b->channel);
    if (channels != 0) {
        return channels;
    }
    if (a->number != b->number) {
        return a->number < b->number ? -1 : 1;
    }
    return a->kind == b->kind ? strcmp(a->name, b->name) : (int)a->kind - (int)b->kind;
}

static bool take_stock(struct stock *stock)
{
    int copy = fcntl(stock->dirs.tmp, F_DUPFD_CLOEXEC, 0);
    DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    bool good = dir != NULL;
    if (!dir && copy >= 0) {
        close(copy);
    }
    for (struct dirent *entry; good && (entry = readdir(dir));) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            good = add(stock, entry->d_name);
        }
    }
    if (dir) {
        closedir(dir);
    }
    if (stock->files > 1) {
        qsort(stock->file, stock->files, sizeof *stock->file, by_turn);
    }
    return good;
}

static const struct tmp_file *twin(const struct stock *stock, const struct tmp_file *of,
                                   enum tmp_kind kind)
{
    for (size_t i = 0; i < stock->files; i++) {
        const struct tmp_file *f = &stock->file[i];
        if (f->kind == kind && f->number == of->number &&
            strcmp(f->channel, of->channel) == 0) {
            return f;
        }
    }
    return NULL;
}

/* ---- one file, one step ---- */

static enum salvage_result delete (const struct stock *stock,
                                   const struct tmp_file *file) {
    const struct sys *sys = stock->place->sys;
    return sys->unlinkat(stock->dirs.tmp, file->name, 0) == 0 ? SALVAGE_STEP
                                                              : SALVAGE_FAILED;
}

/* Neither raw nor sound: what it held is lost, and a marker says so before it goes. */
static enum salvage_result lost(const struct stock *stock, const struct tmp_file *file)
{
    if (!salvage_mark_loss(stock->place, &stock->dirs, file->channel, file->number,
                           "empty_gzip_no_raw")) {
        return SALVAGE_FAILED;
    }
    return delete (stock, file);
}

static enum salvage_result publish_gz(const struct stock *stock,
                                      const struct tmp_file *file)
{
    const struct tmp_file *raw = twin(stock, file, TMP_RAW);
    gpufl_status status = salvage_check(stock->place, stock->dirs.tmp, file->name);
    if (status == GPUFL_OK) {
        return raw ? delete (stock, raw)
                   : salvage_publish(stock->place, &stock->dirs, file->channel,
                                     file->number);
    }
    if (status != GPUFL_ERR_FORMAT) {
        return SALVAGE_FAILED;
    }
    if (raw && !raw->empty) {
        return delete (stock, file); /* made again from what it was made of */
    }
    return file->empty ? lost(stock, file) : SALVAGE_LEFT;
}

/* The active file becomes the window after all that there ever were. */
static enum salvage_result retire(const struct stock *stock, const struct tmp_file *file)
{
    const struct salvage_place *place = stock->place;
    struct scan scan;
    char name[LAYOUT_PATH_MAX];
    uint32_t highest = 0;
    gpufl_status status =
        scan_session(place->sys, place->root, place->path, place->id, &scan);
    if (status != GPUFL_OK) {
        return SALVAGE_FAILED;
    }
    for (unsigned i = 0; i < scan.channels; i++) {
        if (strcmp(scan.channel[i].name, file->channel) == 0) {
            highest = scan.channel[i].highest;
        }
    }
    for (size_t i = 0; i < stock->files; i++) {
        const struct tmp_file *f = &stock->file[i];
        if (f->kind != TMP_ACTIVE && f->number > highest &&
            strcmp(f->channel, file->channel) == 0) {
            highest = f->number;
        }
    }
    layout_numbered(name, file->channel, highest + 1, false);
    return place->sys->renameat(stock->dirs.tmp, file->name, stock->dirs.tmp, name) == 0
               ? SALVAGE_STEP
               : SALVAGE_FAILED;
}

static enum salvage_result step_file(const struct stock *stock,
                                     const struct tmp_file *file)
{
    bool waits = stock->left_channel && strcmp(stock->left_channel, file->channel) == 0;
    switch (file->kind) {
    case TMP_PART:
        return twin(stock, file, TMP_RAW) || twin(stock, file, TMP_GZ)
                   ? delete (stock, file)
                   : SALVAGE_LEFT;
    case TMP_GZ:
        return waits ? SALVAGE_LEFT : publish_gz(stock, file);
    case TMP_RAW:
        if (file->empty) {
            return delete (stock, file);
        }
        return waits ? SALVAGE_LEFT
                     : salvage_compress(stock->place, &stock->dirs, file->channel,
                                        file->number);
    case TMP_ACTIVE:
        if (file->empty) {
            return delete (stock, file);
        }
        return waits ? SALVAGE_LEFT : retire(stock, file);
    case TMP_UNKNOWN:
        break;
    }
    return SALVAGE_LEFT;
}

static enum salvage_result step(struct stock *stock)
{
    if (!take_stock(stock)) {
        return SALVAGE_FAILED;
    }
    for (size_t i = 0; i < stock->files; i++) {
        const struct tmp_file *file = &stock->file[i];
        enum salvage_result result = step_file(stock, file);
        if (result == SALVAGE_STEP) {
            log_info(stock->place->log, "salvage.step", "session=%s file=%.100s",
                     stock->place->id, file->kind == TMP_UNKNOWN ? "?" : file->name);
        }
        if (result != SALVAGE_LEFT) {
            return result;
        }
        stock->left++;
        stock->left_channel = file->kind == TMP_UNKNOWN ? NULL : file->channel;
    }
    if (stock->left) {
        return SALVAGE_LEFT;
    }
    return stock->place->sys->unlinkat(stock->dirs.session, LAYOUT_TMP_DIR,
                                       AT_REMOVEDIR) == 0
               ? SALVAGE_DONE
               : SALVAGE_FAILED;
}

/* ---- under the lock ---- */

/* The writer's own lock, so that it, or another salvager, is not disturbed. */
static int take_lock(const struct salvage_place *place, int session, bool *busy)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = place->sys->open_beneath(session, LAYOUT_LOCK,
                                      O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd >= 0 && fcntl(fd, F_OFD_SETLK, &lock) < 0) {
        *busy = errno == EAGAIN || errno == EACCES;
        close(fd);
        fd = -1;
    }
    return fd;
}

static void close_all(const struct stock *stock, int lock)
{
    const int fds[] = {stock->dirs.tmp, stock->dirs.session, lock};
    for (unsigned i = 0; i < sizeof fds / sizeof fds[0]; i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
    free(stock->file);
}

enum salvage_result salvage_step(const struct salvage_place *place)
{
    const struct sys *sys = place->sys;
    struct stock stock = {.place = place, .dirs = {.tmp = -1}};
    enum salvage_result result = SALVAGE_FAILED;
    bool busy = false;
    int lock = -1;
    stock.dirs.session =
        sys->open_beneath(place->root, place->path, O_RDONLY | O_DIRECTORY, 0);
    if (stock.dirs.session >= 0) {
        lock = take_lock(place, stock.dirs.session, &busy);
    }
    if (lock >= 0) {
        stock.dirs.tmp = sys->open_beneath(stock.dirs.session, LAYOUT_TMP_DIR,
                                           O_RDONLY | O_DIRECTORY, 0);
    }
    if (stock.dirs.tmp >= 0) {
        result = step(&stock);
    } else if (lock >= 0 && errno == ENOENT) {
        result = SALVAGE_DONE;
    }
    close_all(&stock, lock);
    return busy ? SALVAGE_BUSY : result;
}
