/* SPDX-License-Identifier: Apache-2.0 */
/* Lists and sorts what a crashed 1.3 writer left in `.tmp`. */
#include "upload/source/salvage_stock.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"

#define PART_SUFFIX ".part"

static enum tmp_kind tmp_kind_of(const char *name, struct layout_name *parsed)
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

static bool add_tmp_file(struct salvage_stock *stock, int tmp, const char *name)
{
    struct stat st;
    struct layout_name parsed;
    struct tmp_file *more =
        array_grown(stock->file, stock->files, &stock->cap, sizeof *more);
    if (!more) {
        return false;
    }
    stock->file = more;
    if (fstatat(tmp, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        return false;
    }
    bool session = strcmp(name, LAYOUT_LOCK) == 0 || strcmp(name, LAYOUT_MANIFEST) == 0;
    bool ours = st.st_uid == stock->owner || st.st_uid == geteuid();
    stock->foreign = stock->foreign || session || !ours;
    stock->disk_bytes += (uint64_t)st.st_blocks * 512;
    struct tmp_file *file = &more[stock->files++];
    *file = (struct tmp_file){.kind = TMP_UNKNOWN, .empty = st.st_size == 0};
    size_t len = strnlen(name, sizeof file->name - 1);
    memcpy(file->name, name, len);
    if (name[len] == '\0' && S_ISREG(st.st_mode)) {
        file->kind = tmp_kind_of(name, &parsed);
        memcpy(file->channel, parsed.channel, sizeof file->channel);
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

bool salvage_stock_take(struct salvage_stock *stock, int tmp)
{
    int copy = fcntl(tmp, F_DUPFD_CLOEXEC, 0);
    DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    bool good = dir != NULL;
    if (!dir && copy >= 0) {
        close(copy);
    }
    for (struct dirent *entry; good && !stock->crowded && (entry = readdir(dir));) {
        stock->crowded = stock->files == stock->limit;
        if (!stock->crowded && strcmp(entry->d_name, ".") != 0 &&
            strcmp(entry->d_name, "..") != 0) {
            good = add_tmp_file(stock, tmp, entry->d_name);
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

const struct tmp_file *salvage_stock_twin(const struct salvage_stock *stock,
                                          const struct tmp_file *of, enum tmp_kind kind)
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

void salvage_stock_fini(struct salvage_stock *stock)
{
    free(stock->file);
    *stock = (struct salvage_stock){0};
}
