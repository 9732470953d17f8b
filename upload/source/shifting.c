/* SPDX-License-Identifier: Apache-2.0 */
/* Finds files by their heads and marks while a writer renames them. What was read counts
 * only if no rotation came in between, so each result is checked before it is used. */
#include "upload/source/shifting.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "upload/http/encode.h"
#include "upload/source/shifting_numbers.h"

#define TRIES 16

/* \return false, and \p failed, if that cannot be told. */
static bool is_still_at(const struct sys *sys, const struct tail_where *w, uint32_t index,
                        const struct file_known *known, bool *failed)
{
    bool gz;
    int fd = shifting_number_open(sys, w, index, &gz);
    struct file_known found = {0};
    *failed = *failed || (fd < 0 && errno != ENOENT);
    if (fd >= 0) {
        found = file_known_of(fd);
        close(fd);
    }
    return file_known_same(known, &found);
}

/* No more than the first line of it was sent. */
static bool doubt_knows_first_line(const struct sys *sys, const struct tail_where *w,
                                   uint32_t index)
{
    char data[SHIFTING_HEAD_BYTES];
    bool gz;
    int fd = w->mark_at <= sizeof data ? shifting_number_open(sys, w, index, &gz) : -1;
    if (fd < 0) {
        return false;
    }
    ssize_t n = shifting_read_head(sys, w, fd, gz, data);
    const char *newline = n > 0 ? memchr(data, '\n', (size_t)n) : NULL;
    close(fd);
    return newline && w->mark_at == (uint64_t)(newline + 1 - data);
}

/* Whether the file at \p index ends, or goes on, as the one before the position did. One
 * that cannot be read tells nothing. */
static enum file_match doubt_compare(const struct sys *sys, const struct tail_where *w,
                                     uint32_t index)
{
    struct tail_where other = *w;
    bool gz;
    other.mark = w->before->mark;
    other.offset = other.mark_at = w->before->bytes;
    int fd = shifting_number_open(sys, &other, index, &gz);
    if (fd < 0) {
        return FILE_UNREADABLE;
    }
    enum file_match match = tail_where_match(sys, &other, fd, gz);
    close(fd);
    return match;
}

static bool doubt_knows_before(const struct tail_where *w)
{
    return w->before && w->before->mark.bytes && w->before->file + 1 == w->file;
}

/* The next older file is not the one before the position. */
static bool doubt_follows_another(const struct sys *sys, const struct tail_where *w,
                                  uint32_t index, bool *later)
{
    bool failed = false;
    uint32_t older = index + 1;
    while (older <= SCAN_SHIFTING_MAX &&
           !shifting_number_is_used(sys, w, older, &failed) && !failed) {
        older++;
    }
    if (failed || older > SCAN_SHIFTING_MAX) { /* its writer may have deleted it */
        return !failed && index + 1 < SHIFTING_DROPPED_BEYOND;
    }
    enum file_match match = doubt_compare(sys, w, older);
    *later = *later || match == FILE_LATER;
    return match == FILE_DIFFERS || match == FILE_SHORTER;
}

/* It is the file before, which has its name again. */
static bool doubt_is_before(const struct sys *sys, const struct tail_where *w,
                            uint32_t index, bool *later)
{
    bool goes_on = w->before->bytes > w->mark_at;
    enum file_match match = goes_on ? doubt_compare(sys, w, index) : FILE_DIFFERS;
    *later = *later || match == FILE_LATER;
    return match == FILE_MATCHES && doubt_follows_another(sys, w, index, later);
}

bool shifting_is_doubtful(const struct sys *sys, const struct tail_where *w,
                          uint32_t index, bool *later)
{
    struct shifting_place oldest;
    bool failed = false;
    bool before = doubt_knows_before(w);
    bool is_before = before && doubt_is_before(sys, w, index, later);
    if (is_before || *later || !doubt_knows_first_line(sys, w, index)) {
        return is_before;
    }
    uint32_t files = shifting_number_highest(sys, w, &failed) + 1;
    gpufl_status status = shifting_oldest_at(sys, w, files - 1, &oldest);
    bool counts = !failed && (status != GPUFL_OK || oldest.begins);
    return counts ? index + w->file > files
                  : !failed && before && doubt_follows_another(sys, w, index, later);
}

/* What a search for a file has found. */
struct shifting_search {
    int fd; /**< -1 = none */
    bool gz;
    uint32_t index;
    unsigned alike;   /**< files that could be it */
    bool any_shorter; /**< a file with that head ends before the position … */
    bool any_damaged; /**< … or a compressed one is cut off, or damaged, before it */
    bool unreadable;  /**< one could not be opened … */
    bool unread;      /**< … or not be read, and may be it */
    bool later;       /**< … or was not read so far yet */
};

static void search_take(struct shifting_search *search, int fd, bool gz, uint32_t index)
{
    if (search->fd >= 0) {
        close(search->fd);
    }
    search->fd = fd;
    search->gz = gz;
    search->index = index;
}

/* Whether the file at \p index is or could be the one. \return true if it is for sure. */
static bool search_at(const struct sys *sys, const struct tail_where *w, uint32_t index,
                      struct shifting_search *search)
{
    bool gz;
    int fd = shifting_number_open(sys, w, index, &gz);
    if (fd < 0) {
        search->unreadable = search->unreadable || errno != ENOENT;
        return false;
    }
    struct file_known found = file_known_of(fd);
    enum file_match match = FILE_DIFFERS;
    uint64_t head;
    search->unread = search->unread || !shifting_head_of(sys, w, fd, gz, &head);
    if (head == w->head) {
        bool known = w->known && file_known_same(w->known, &found);
        if (!known || !gz) {
            match = tail_where_match(sys, w, fd, gz);
        }
        if (known && (gz || match == FILE_MATCHES)) {
            search_take(search, fd, gz, index);
            return true;
        }
    }
    search->any_shorter = search->any_shorter || match == FILE_SHORTER;
    search->any_damaged = search->any_damaged || (gz && match == FILE_UNREADABLE);
    search->unread = search->unread || (!gz && match == FILE_UNREADABLE);
    search->later = search->later || match == FILE_LATER;
    search->alike += match == FILE_MATCHES;
    if (match == FILE_MATCHES && search->fd < 0) {
        search_take(search, fd, gz, index);
    } else {
        close(fd);
    }
    return false;
}

/* Of several that could be it, the one that its number in time points to, if no file was
 * deleted and none is being renamed. */
static bool search_by_count(const struct sys *sys, const struct tail_where *w,
                            struct shifting_search *search)
{
    struct shifting_search one = {.fd = -1};
    bool failed = false;
    uint32_t files = shifting_number_highest(sys, w, &failed) + 1;
    if (w->file == 0 || w->file > files || failed) {
        return false;
    }
    bool known = search_at(sys, w, files - w->file, &one);
    bool sure =
        known || (one.alike == 1 && !shifting_is_doubtful(sys, w, one.index, &one.later));
    search->later = one.later;
    if (sure && !one.later && shifting_number_highest(sys, w, &failed) + 1 == files &&
        !failed) {
        search_take(search, one.fd, one.gz, one.index);
        return true;
    }
    search_take(&one, -1, false, 0);
    return false;
}

/* \return false if nothing shows that it is the file of the position. */
static bool search_tells(const struct sys *sys, const struct tail_where *w,
                         struct shifting_search *search)
{
    if (search->alike != 1) {
        return search->alike && search_by_count(sys, w, search);
    }
    bool doubtful = shifting_is_doubtful(sys, w, search->index, &search->later);
    return !doubtful && !search->later;
}

static gpufl_status search_end(const struct tail_where *w,
                               const struct shifting_search *search, int *fd, bool *gz,
                               uint32_t *index)
{
    *fd = search->fd;
    *gz = search->gz;
    *index = search->index;
    if (w->known) {
        *w->known = file_known_of(*fd);
    }
    if (lseek(*fd, 0, SEEK_SET) != 0) {
        close(*fd);
        return GPUFL_ERR_IO;
    }
    return GPUFL_OK;
}

/* Two passes: the file may have been renamed to a number that was tried before. */
gpufl_status shifting_open(const struct sys *sys, const struct tail_where *w, int *fd,
                           bool *gz, uint32_t *index)
{
    struct shifting_search search = {.fd = -1};
    bool any = !w->known && !w->mark.bytes;
    for (int pass = 0; pass < 2 && search.fd < 0; pass++) {
        for (uint32_t i = pass ? 0 : w->index; i <= SCAN_SHIFTING_MAX; i++) {
            if (search_at(sys, w, i, &search) || (any && search.fd >= 0)) {
                return search_end(w, &search, fd, gz, index);
            }
            if (search.later || search.unreadable) {
                search_take(&search, -1, false, 0);
                return search.later ? GPUFL_BUSY : GPUFL_ERR_IO;
            }
        }
    }
    if (search_tells(sys, w, &search)) {
        return search_end(w, &search, fd, gz, index);
    }
    search_take(&search, -1, false, 0);
    bool part_is_gone = (search.any_shorter || search.any_damaged) && !search.alike;
    *gz = search.any_damaged;
    return search.later    ? GPUFL_BUSY
           : search.unread ? GPUFL_ERR_IO
           : part_is_gone  ? GPUFL_ERR_FORMAT
                           : GPUFL_ERR_NOT_FOUND;
}

gpufl_status shifting_first(const struct sys *sys, const struct tail_where *w,
                            uint32_t highest, struct shifting_place *out)
{
    bool failed = false;
    for (int i = 0; i < TRIES && !failed; i++) {
        gpufl_status status = shifting_oldest_at(sys, w, highest, out);
        if (status == GPUFL_OK && out->begins) {
            return GPUFL_OK; /* nothing is older */
        }
        if (status != GPUFL_ERR_NOT_FOUND || highest == 0) {
            if (!shifting_number_between(sys, w, highest, SCAN_SHIFTING_MAX + 1,
                                         &failed)) {
                return status;
            }
        }
        highest = shifting_number_highest(sys, w, &failed);
    }
    /* The writer rotates faster than we read: a later call finds it. */
    return failed ? GPUFL_ERR_IO : GPUFL_ERR_NOT_FOUND;
}

/* The file with the next lower number than \p at: the next one in time. */
static gpufl_status place_below(const struct sys *sys, const struct tail_where *w,
                                uint32_t at, struct shifting_place *out, uint32_t *taken)
{
    gpufl_status status = GPUFL_ERR_NOT_FOUND;
    *taken = at;
    while (*taken > 0 && status == GPUFL_ERR_NOT_FOUND) {
        status = shifting_place_at(sys, w, --*taken, out);
    }
    return status;
}

gpufl_status shifting_next(const struct sys *sys, const struct tail_where *w,
                           struct shifting_place *out)
{
    bool failed = false;
    for (int i = 0; i < TRIES && !failed; i++) {
        bool gz;
        int fd;
        uint32_t at;
        uint32_t taken;
        gpufl_status status = shifting_open(sys, w, &fd, &gz, &at);
        if (status != GPUFL_OK) {
            return status;
        }
        struct file_known known = file_known_of(fd);
        close(fd);
        status = place_below(sys, w, at, out, &taken);
        if (!shifting_number_between(sys, w, taken, at, &failed) &&
            is_still_at(sys, w, at, &known, &failed)) {
            out->skipped = shifting_number_free(sys, w, taken, at);
            return status;
        }
    }
    return failed ? GPUFL_ERR_IO : GPUFL_ERR_NOT_FOUND;
}

/* Where the file is that was being read and cannot be read now. Of several, the newest is
 * taken: nothing is sent twice.
 * \return GPUFL_ERR_IO if it is another one that cannot be read. */
static gpufl_status unreadable_at(const struct sys *sys, const struct tail_where *w,
                                  uint32_t *at)
{
    struct shifting_search search = {.fd = -1};
    struct tail_where where = *w;
    bool any = false;
    where.known = NULL;
    for (uint32_t i = SCAN_SHIFTING_MAX + 1; i-- > 0;) {
        search.unreadable = search.unread = false;
        (void)search_at(sys, &where, i, &search);
        bool it = search.unreadable || search.unread;
        any = any || it;
        *at = it ? i : *at;
    }
    search_take(&search, -1, false, 0);
    if (search.later || search.alike || search.any_shorter || search.any_damaged) {
        return search.later ? GPUFL_BUSY : GPUFL_ERR_IO;
    }
    return any ? GPUFL_OK : GPUFL_ERR_NOT_FOUND;
}

gpufl_status shifting_skip(const struct sys *sys, const struct tail_where *w,
                           uint32_t highest, struct shifting_place *out)
{
    /* One of which part is gone has only its head left. Of several alike, the newest is
     * taken: nothing is sent twice. */
    struct tail_where by_head = *w;
    by_head.known = NULL;
    by_head.before = NULL;
    by_head.mark = (struct record_mark){0};
    by_head.offset = by_head.mark_at = 0;
    uint32_t at = highest + 1;
    gpufl_status status = GPUFL_ERR_FORMAT;
    bool gz;
    int fd;
    gpufl_status found = w->head ? shifting_open(sys, w, &fd, &gz, &at) : GPUFL_OK;
    if (found != GPUFL_OK && found != GPUFL_ERR_IO && found != GPUFL_BUSY) {
        found = shifting_open(sys, &by_head, &fd, &gz, &at);
    }
    if (w->head && found == GPUFL_OK) {
        close(fd);
    }
    found = found == GPUFL_ERR_IO ? unreadable_at(sys, w, &at) : found;
    if (found != GPUFL_OK) {
        return found == GPUFL_ERR_IO || found == GPUFL_BUSY ? found : GPUFL_ERR_NOT_FOUND;
    }
    uint32_t behind = at;
    while (at > 0 && status != GPUFL_OK) {
        status = place_below(sys, w, at, out, &at);
    }
    out->skipped = shifting_number_free(sys, w, at, behind);
    return status == GPUFL_OK ? status : GPUFL_ERR_NOT_FOUND;
}

gpufl_status shifting_by_crc(const struct sys *sys, const struct tail_where *w,
                             uint32_t crc, struct shifting_place *out)
{
    char data[SHIFTING_HEAD_BYTES];
    if (!crc) {
        return shifting_place_at(sys, w, w->index, out);
    }
    for (uint32_t i = w->index; i <= SCAN_SHIFTING_MAX; i++) {
        bool gz;
        int fd = shifting_number_open(sys, w, i, &gz);
        if (fd < 0) {
            continue;
        }
        ssize_t n = shifting_read_head(sys, w, fd, gz, data);
        struct file_known known = file_known_of(fd);
        close(fd);
        uint32_t found = n > 0 ? encode_crc32(0, data, (size_t)n) : 0;
        if (n > 0 && (found ? found : 1) == crc) { /* the other agent writes 1 for 0 */
            *out = (struct shifting_place){
                .index = i, .head = shifting_head(data, (size_t)n), .known = known};
            return out->head ? GPUFL_OK : GPUFL_ERR_FORMAT;
        }
    }
    return GPUFL_ERR_NOT_FOUND;
}

bool shifting_overflows(const struct sys *sys, const struct tail_where *w)
{
    bool failed = false;
    return shifting_number_is_used(sys, w, SHIFTING_DROPPED_BEYOND, &failed) && !failed;
}
