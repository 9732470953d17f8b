/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the first bytes of files, and lists a directory while its writer renames them.
 * One getdents64(2) holds the lock of the directory, so that what it returns was there at
 * one moment; two in a row may miss a file. */
#include "upload/source/shifting_numbers.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "schema/records.h"
#include "upload/source/listing.h"
#include "upload/source/ndjson.h"
#include "upload/source/told.h"

#define FEW_NUMBERS 4u /* that are tried without a look at the directory */
/* Of what a writer leaves, it is 2 KiB. */
#define HEAD_COST_MOST (32u << 10)
/* Lines of other types before the first record. */
#define FIRST_LINES_BYTES     (64u << 10)
#define FIRST_LINES_COST_MOST (4 * FIRST_LINES_BYTES)

/* btrfs and tmpfs leave out what is renamed between open(2) and getdents64(2); network
 * file systems and overlays read ahead. */
static bool lists_one_moment(const struct sys *sys, int fd)
{
    struct statfs st;
    return sys->fstatfs(fd, &st) == 0 &&
           (st.f_type == EXT4_SUPER_MAGIC || st.f_type == XFS_SUPER_MAGIC);
}

/* \return false if more than one call was needed. */
static bool number_listed(struct listing *listing, const char *channel, uint32_t below,
                          uint32_t *number)
{
    bool again = false;
    *number = 0;
    for (const struct dirent64 *entry; (entry = listing_next(listing));) {
        struct layout_name name = layout_parse(entry->d_name);
        if (again) {
            return false;
        }
        again = listing->at == listing->len; /* the next one takes another call */
        if (name.kind == LAYOUT_NUMBERED && strcmp(name.channel, channel) == 0 &&
            name.number > below && name.number <= SCAN_SHIFTING_MAX &&
            (!*number || name.number < *number)) {
            *number = name.number;
        }
    }
    return !listing->error;
}

bool shifting_number_beyond(const struct sys *sys, const struct tail_where *w,
                            uint32_t below, uint32_t *number)
{
    struct listing listing;
    struct tail_where in;
    int dir = tail_where_enter(sys, w, &in);
    bool known = dir >= 0 && listing_open(&listing, sys, dir, ".") == GPUFL_OK;
    if (known) {
        known = lists_one_moment(sys, listing.fd) &&
                number_listed(&listing, w->channel, below, number);
        listing_close(&listing);
    }
    if (dir >= 0) {
        close(dir);
    }
    return known;
}

uint64_t shifting_head(const char *data, size_t len)
{
    size_t most = len < SHIFTING_HEAD_BYTES ? len : SHIFTING_HEAD_BYTES;
    const char *newline = memchr(data, '\n', most);
    if (!newline && len < SHIFTING_HEAD_BYTES) {
        return 0;
    }
    size_t n = newline ? (size_t)(newline - data) + 1 : most;
    uint64_t hash = hash64_bytes(HASH64_BASIS, data, n);
    return hash ? hash : 1;
}

/* It ends before the position, or within its first line: a program that unpacked it may
 * have been killed. */
static bool number_is_cut(const struct sys *sys, const struct tail_where *w, int fd)
{
    char data[SHIFTING_HEAD_BYTES];
    struct stat st;
    if (fstat(fd, &st) < 0) {
        return false;
    }
    bool ends_before = (uint64_t)st.st_size < w->mark_at;
    bool short_one = (uint64_t)st.st_size < sizeof data;
    ssize_t n = short_one ? file_pread_full(sys, fd, data, sizeof data, 0) : -1;
    return ends_before || (n >= 0 && shifting_head(data, (size_t)n) == 0);
}

/* Whether \p fd, which has number 1, is a copy of the active file. */
static bool number_is_copy(const struct sys *sys, const struct tail_where *w, int fd,
                           bool gz)
{
    static const struct active_files nothing;
    struct tail_where in;
    struct told_beside b = {sys, -1, w->channel, 1, -1, fd, gz, w->cache};
    char name[LAYOUT_PATH_MAX];
    layout_active(name, w->channel, false);
    b.dir = tail_where_enter(sys, w, &in);
    b.active = b.dir >= 0 ? file_open(sys, b.dir, name) : -1;
    bool copy = b.active >= 0 && told_is_anothers(&b, &nothing);
    if (b.active >= 0) {
        close(b.active);
    }
    if (b.dir >= 0) {
        close(b.dir);
    }
    return copy;
}

int shifting_number_open(const struct sys *sys, const struct tail_where *w,
                         uint32_t number, bool *gz)
{
    struct tail_where at = *w;
    int fd = tail_where_open_either(sys, w, number, gz);
    at.file = number;
    if (fd >= 0 && number > 0 && !*gz && number_is_cut(sys, w, fd)) {
        int packed = tail_where_open_packed(sys, &at);
        *gz = packed >= 0 || errno != ENOENT;
        if (*gz) {
            close(fd);
            fd = packed;
        }
    }
    if (fd >= 0 && number == 1 && number_is_copy(sys, w, fd, *gz)) {
        close(fd);
        fd = -1;
        errno = ENOENT;
    }
    if (fd < 0 && errno == ELOOP) {
        errno = ENOENT;
    }
    return fd;
}

bool shifting_number_is_used(const struct sys *sys, const struct tail_where *w,
                             uint32_t number, bool *failed)
{
    bool gz;
    int fd = shifting_number_open(sys, w, number, &gz);
    if (fd >= 0) {
        close(fd);
        return true;
    }
    *failed = *failed || errno != ENOENT;
    return errno != ENOENT;
}

/* Counting up, a file that moves up is never missed. */
uint32_t shifting_number_highest(const struct sys *sys, const struct tail_where *w,
                                 bool *failed)
{
    uint32_t highest = 0;
    for (uint32_t i = 1; i <= SCAN_SHIFTING_MAX; i++) {
        highest = shifting_number_is_used(sys, w, i, failed) ? i : highest;
    }
    return highest;
}

uint32_t shifting_number_free(const struct sys *sys, const struct tail_where *w,
                              uint32_t below, uint32_t above)
{
    uint32_t numbers = above - below - 1;
    bool gz;
    int fd = below == 0 && numbers ? tail_where_open_either(sys, w, 1, &gz) : -1;
    if (fd < 0) {
        return numbers;
    }
    bool copy = number_is_copy(sys, w, fd, gz);
    close(fd);
    return numbers - copy;
}

/* During a rotation a number is free for a moment, and the file below may move up while
 * the numbers are looked at: likewise. */
bool shifting_number_between(const struct sys *sys, const struct tail_where *w,
                             uint32_t below, uint32_t above, bool *failed)
{
    uint32_t first = below + 1;
    uint32_t listed;
    if (above - below > FEW_NUMBERS && shifting_number_beyond(sys, w, below, &listed)) {
        first = listed ? listed : above;
    }
    for (uint32_t i = first; i < above; i++) {
        if (shifting_number_is_used(sys, w, i, failed)) {
            return true;
        }
    }
    return false;
}

/* What is to be read of the beginning of a file. */
struct shifting_first_bytes {
    char *data;
    size_t size;
    uint64_t cost_most; /* of a compressed one */
};

/* \return as shifting_read_head(). */
static ssize_t first_bytes_read(const struct sys *sys, const struct tail_where *w, int fd,
                                bool gz, const struct shifting_first_bytes *first)
{
    if (!gz) {
        return file_pread_full(sys, fd, first->data, first->size, 0);
    }
    struct gz_cache once = {.read_most = first->cost_most};
    size_t len;
    gpufl_status status = gz_cache_read(&once, fd, 0, first->data, first->size, &len);
    gz_cache_close(&once);
    if (w->cache) {
        gz_cache_note(w->cache, once.work);
    }
    return status == GPUFL_ERR_IO || once.failed ? -1 : once.plain ? 0 : (ssize_t)len;
}

/* Anybody can make a hundred files whose first bytes take long to decode, all of which a
 * search looks at: such a file has no head. */
ssize_t shifting_read_head(const struct sys *sys, const struct tail_where *w, int fd,
                           bool gz, char data[SHIFTING_HEAD_BYTES])
{
    const struct shifting_first_bytes head = {data, SHIFTING_HEAD_BYTES, HEAD_COST_MOST};
    return first_bytes_read(sys, w, fd, gz, &head);
}

/* Of whichever file it is: the position is in another one. */
static int number_open_at_begin(const struct sys *sys, const struct tail_where *w,
                                uint32_t number, bool *gz)
{
    struct tail_where begin = *w;
    begin.mark_at = 0;
    return shifting_number_open(sys, &begin, number, gz);
}

/* Whether a whole line among the first of \p place is a job_start. */
static bool first_lines_begin(const struct sys *sys, const struct tail_where *w,
                              const struct shifting_place *place, char *data)
{
    const struct shifting_first_bytes lines = {data, FIRST_LINES_BYTES,
                                               FIRST_LINES_COST_MOST};
    struct record_text line;
    bool gz;
    int fd = number_open_at_begin(sys, w, place->index, &gz);
    if (fd < 0) {
        return false;
    }
    struct file_known known = file_known_of(fd);
    bool same = file_known_same(&place->known, &known);
    ssize_t n = same ? first_bytes_read(sys, w, fd, gz, &lines) : 0;
    close(fd);
    const char *end = n > 0 ? memrchr(data, '\n', (size_t)n) : NULL;
    return end &&
           ndjson_find_type(data, (size_t)(end + 1 - data), RECORD_JOB_START, &line);
}

gpufl_status shifting_place_at(const struct sys *sys, const struct tail_where *w,
                               uint32_t index, struct shifting_place *out)
{
    struct record_text line;
    char data[SHIFTING_HEAD_BYTES];
    bool gz;
    int fd = number_open_at_begin(sys, w, index, &gz);
    if (fd < 0) {
        return errno == ENOENT ? GPUFL_ERR_NOT_FOUND : GPUFL_ERR_IO;
    }
    ssize_t n = shifting_read_head(sys, w, fd, gz, data);
    *out = (struct shifting_place){.index = index, .known = file_known_of(fd)};
    close(fd);
    if (n < 0) {
        return GPUFL_ERR_IO;
    }
    out->head = shifting_head(data, (size_t)n);
    out->begins = ndjson_find_type(data, (size_t)n, RECORD_JOB_START, &line);
    /* A compressed file is whole; the active one may be about to be written. */
    gpufl_status none = index || gz ? GPUFL_ERR_FORMAT : GPUFL_ERR_NOT_FOUND;
    return out->head ? GPUFL_OK : none;
}

gpufl_status shifting_oldest_at(const struct sys *sys, const struct tail_where *w,
                                uint32_t index, struct shifting_place *out)
{
    gpufl_status status = shifting_place_at(sys, w, index, out);
    if (status == GPUFL_OK && !out->begins) {
        char *data = malloc(FIRST_LINES_BYTES);
        out->begins = data && first_lines_begin(sys, w, out, data);
        free(data);
    }
    return status;
}

bool shifting_head_of(const struct sys *sys, const struct tail_where *w, int fd, bool gz,
                      uint64_t *head)
{
    char data[SHIFTING_HEAD_BYTES];
    ssize_t n = shifting_read_head(sys, w, fd, gz, data);
    *head = n > 0 ? shifting_head(data, (size_t)n) : 0;
    return n >= 0;
}
