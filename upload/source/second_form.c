/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a compressed file with the files that it may have been made of. */
#include "upload/source/second_form.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "schema/layout.h"
#include "upload/source/gz_cache.h"
#include "upload/source/listing.h"

#define COMPARE_BYTES (16u << 10)
/* Anybody can make these files in a directory of theirs, and all is compared at once. */
#define COMPARE_MAX (128ull << 20)

/* The compressed file, and one that it may be the beginning of. */
struct second_form {
    const struct sys *sys;
    int gz;
    int of;
    bool of_is_gz;
};

/* \return the bytes at \p at; -1 if they cannot be read. */
static ssize_t second_form_read(const struct second_form *f, struct gz_cache *cache,
                                uint64_t at, char *buf, size_t len)
{
    size_t n;
    if (!f->of_is_gz) {
        return file_pread_full(f->sys, f->of, buf, len, (off_t)at);
    }
    return gz_cache_read(cache, f->of, at, buf, len, &n) == GPUFL_OK ? (ssize_t)n : -1;
}

/* One that was cut off holds what is before the cut. */
static bool second_form_begins(const struct second_form *f)
{
    char own[COMPARE_BYTES];
    char of[COMPARE_BYTES];
    struct gz_cache own_cache = {0};
    struct gz_cache of_cache = {0};
    uint64_t at = 0;
    bool same = true;
    bool over = false;
    while (same && !over && at < COMPARE_MAX) {
        size_t len = 0;
        over = gz_cache_read(&own_cache, f->gz, at, own, sizeof own, &len) != GPUFL_OK ||
               len == 0;
        same = !own_cache.plain &&
               second_form_read(f, &of_cache, at, of, len) == (ssize_t)len &&
               memcmp(own, of, len) == 0;
        at += len;
    }
    gz_cache_close(&own_cache);
    gz_cache_close(&of_cache);
    return same && over && at > 0;
}

static bool second_form_begins_file(struct second_form f, int dir, const char *name,
                                    bool gz)
{
    f.of = file_open(f.sys, dir, name);
    f.of_is_gz = gz;
    bool begins = f.of >= 0 && second_form_begins(&f);
    if (f.of >= 0) {
        close(f.of);
    }
    return begins;
}

/* \return whether it begins any other file of the channel. */
static bool second_form_search(const struct second_form *f, int dir, const char *channel)
{
    struct listing listing;
    bool found = false;
    if (listing_open(&listing, f->sys, dir, ".") != GPUFL_OK) {
        return false;
    }
    for (const struct dirent64 *entry; !found && (entry = listing_next(&listing));) {
        struct layout_name name = layout_parse(entry->d_name);
        bool other =
            name.kind == LAYOUT_NUMBERED || (name.kind == LAYOUT_ACTIVE && !name.gz);
        found = other && strcmp(name.channel, channel) == 0 &&
                second_form_begins_file(*f, dir, entry->d_name, name.gz);
    }
    listing_close(&listing);
    return found;
}

static uint64_t second_form_stamp(int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0) {
        return 0;
    }
    const int64_t all[] = {(int64_t)st.st_ino, st.st_size, st.st_ctim.tv_sec,
                           st.st_ctim.tv_nsec};
    return hash64_bytes(HASH64_BASIS, all, sizeof all);
}

bool second_form_is_copy(const struct sys *sys, int dir, const char *channel,
                         uint64_t *known)
{
    char name[LAYOUT_PATH_MAX];
    layout_active(name, channel, true);
    struct second_form form = {.sys = sys, .gz = file_open(sys, dir, name)};
    if (form.gz < 0) {
        return false;
    }
    uint64_t stamp = second_form_stamp(form.gz);
    bool is =
        (known && stamp && *known == stamp) || second_form_search(&form, dir, channel);
    if (known) {
        *known = is ? stamp : 0;
    }
    close(form.gz);
    return is;
}
