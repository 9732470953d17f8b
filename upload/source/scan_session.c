/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a compressed file with the files that it may have been made of, and decides on
 * it by that and by what the writer told. */
#include "upload/source/scan_session.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "schema/layout.h"
#include "upload/source/file_mark.h"
#include "upload/source/gz_cache.h"
#include "upload/source/gz_file.h"
#include "upload/source/listing.h"

#define COMPARE_BYTES (16u << 10)
/* Anybody can make these files in a directory of theirs, and all is compared at once. */
#define COMPARE_MAX (128ull << 20)

/* The compressed file, and one that it may be the beginning of. */
struct second_pair {
    const struct sys *sys;
    int gz;
    int of;
    bool of_is_gz;
    bool of_is_active;
    bool failed; /* one of them could not be read */
};

/* What the comparison has come to. */
struct second_compared {
    uint64_t at;
    gpufl_status status; /* of the compressed file */
    bool same;
    bool cut;        /* it ends within a member */
    bool whole_line; /* half a line proves nothing, as records begin alike */
    bool in_line;    /* it ends within a line */
};

/* \return the bytes at \p at; -1 if they cannot be read. */
static ssize_t second_pair_read(struct second_pair *p, struct gz_cache *cache,
                                uint64_t at, char *buf, size_t len)
{
    size_t got;
    if (!p->of_is_gz) {
        ssize_t n = file_pread_full(p->sys, p->of, buf, len, (off_t)at);
        p->failed = p->failed || n < 0;
        return n;
    }
    gpufl_status status = gz_cache_read(cache, p->of, at, buf, len, &got);
    p->failed = p->failed || cache->failed;
    return status == GPUFL_OK ? (ssize_t)got : -1;
}

/* Goes on to the end of the compressed file, or to the first difference. */
static struct second_compared second_pair_compare(struct second_pair *p)
{
    char own[COMPARE_BYTES];
    char of[COMPARE_BYTES];
    struct gz_cache own_cache = {0};
    struct gz_cache of_cache = {0};
    struct second_compared c = {.same = true};
    size_t len = 1;
    while (c.same && c.status == GPUFL_OK && len > 0 && c.at < COMPARE_MAX) {
        c.status = gz_cache_read(&own_cache, p->gz, c.at, own, sizeof own, &len);
        p->failed = p->failed || own_cache.failed;
        c.cut = own_cache.cut;
        c.same = !own_cache.plain &&
                 second_pair_read(p, &of_cache, c.at, of, len) == (ssize_t)len &&
                 memcmp(own, of, len) == 0;
        c.whole_line = c.whole_line || memchr(own, '\n', len);
        c.in_line = len > 0 ? own[len - 1] != '\n' : c.in_line;
        c.at += len;
    }
    c.same = c.same && (c.status != GPUFL_OK || len == 0);
    /* A writer that was killed leaves half a line in both. */
    c.same = c.same && (c.status != GPUFL_OK || !c.in_line ||
                        second_pair_read(p, &of_cache, c.at, of, 1) == 0);
    gz_cache_close(&own_cache);
    gz_cache_close(&of_cache);
    return c;
}

/* To the last byte: what follows a damaged member counts, too. */
static gpufl_status second_form_check(const struct second_pair *p)
{
    size_t budget = 2 * COMPARE_MAX;
    struct gz_file *check = gz_file_open(GZ_CHECK);
    if (!check) {
        return GPUFL_ERR_IO;
    }
    gpufl_status status = gz_file_step(check, p->sys, p->gz, -1, &budget);
    gz_file_close(check);
    return status;
}

static enum second_form second_pair_form(struct second_pair *p)
{
    struct second_compared c = second_pair_compare(p);
    if (p->failed) {
        return SECOND_FORM_UNREADABLE;
    }
    if (!c.same || !c.whole_line) {
        return SECOND_FORM_OTHER;
    }
    if (c.status != GPUFL_OK) {
        return c.cut && p->of_is_active ? SECOND_FORM_CUT_ACTIVE : SECOND_FORM_CUT;
    }
    gpufl_status whole = second_form_check(p);
    if (whole != GPUFL_OK) {
        return whole == GPUFL_ERR_IO ? SECOND_FORM_UNREADABLE : SECOND_FORM_CUT;
    }
    return p->of_is_active ? SECOND_FORM_COPY_ACTIVE : SECOND_FORM_COPY;
}

static enum second_form second_form_of_file(struct second_pair pair, int dir,
                                            const char *name)
{
    pair.of = file_open(pair.sys, dir, name);
    if (pair.of < 0) {
        return errno == ENOENT || errno == ELOOP ? SECOND_FORM_OTHER
                                                 : SECOND_FORM_UNREADABLE;
    }
    enum second_form form = second_pair_form(&pair);
    close(pair.of);
    return form;
}

/* Compares it with all other files of the channel, until it is a copy of one. */
static enum second_form second_form_search(struct second_pair pair, int dir,
                                           const char *channel)
{
    struct listing listing;
    enum second_form form = SECOND_FORM_OTHER;
    if (listing_open(&listing, pair.sys, dir, ".") != GPUFL_OK) {
        return SECOND_FORM_UNREADABLE;
    }
    for (const struct dirent64 *entry;
         form < SECOND_FORM_COPY_ACTIVE && (entry = listing_next(&listing));) {
        struct layout_name name = layout_parse(entry->d_name);
        pair.of_is_active = name.kind == LAYOUT_ACTIVE && !name.gz;
        pair.of_is_gz = name.gz;
        if ((name.kind == LAYOUT_NUMBERED || pair.of_is_active) &&
            strcmp(name.channel, channel) == 0) {
            enum second_form found = second_form_of_file(pair, dir, entry->d_name);
            form = found > form ? found : form;
        }
    }
    bool listed = form >= SECOND_FORM_COPY_ACTIVE || !listing.error;
    listing_close(&listing);
    return listed ? form : SECOND_FORM_UNREADABLE;
}

/* \return the identity of the active file; all zero = it is not there. */
static struct file_known second_form_active(int dir, const char *channel)
{
    char name[LAYOUT_PATH_MAX];
    struct file_known active = {0};
    layout_active(name, channel, false);
    int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0) {
        active = file_known_of(fd);
        close(fd);
    }
    return active;
}

/* Sealed files keep their numbers, so a copy of one stays a copy. What was found beside
 * an active file counts while that one is there. \return 0 = nothing is to be known. */
static uint64_t second_form_stamp(int gz, int dir, const char *channel,
                                  enum second_form form)
{
    struct stat st;
    struct file_known active = {0};
    if (form == SECOND_FORM_OTHER || form == SECOND_FORM_UNREADABLE ||
        fstat(gz, &st) < 0) {
        return 0;
    }
    if (form != SECOND_FORM_COPY) {
        active = second_form_active(dir, channel);
    }
    if (form == SECOND_FORM_COPY_ACTIVE && !active.inode) {
        return 0;
    }
    const int64_t all[] = {(int64_t)st.st_ino,    st.st_size,    st.st_ctim.tv_sec,
                           st.st_ctim.tv_nsec,    (int64_t)form, (int64_t)active.device,
                           (int64_t)active.inode, active.born_ns};
    return hash64_bytes(HASH64_BASIS, all, sizeof all);
}

static enum second_form second_form_known(int gz, int dir, const char *channel,
                                          uint64_t known)
{
    enum second_form form = SECOND_FORM_COPY;
    while (form != SECOND_FORM_OTHER &&
           (!known || second_form_stamp(gz, dir, channel, form) != known)) {
        form--;
    }
    return form;
}

enum second_form second_form_of(const struct sys *sys, int dir, const char *channel,
                                uint64_t *known)
{
    char name[LAYOUT_PATH_MAX];
    layout_active(name, channel, true);
    struct second_pair pair = {.sys = sys, .gz = file_open(sys, dir, name)};
    if (pair.gz < 0) {
        return errno == ENOENT ? SECOND_FORM_OTHER : SECOND_FORM_UNREADABLE;
    }
    enum second_form form =
        known ? second_form_known(pair.gz, dir, channel, *known) : SECOND_FORM_OTHER;
    if (form == SECOND_FORM_OTHER) {
        form = second_form_search(pair, dir, channel);
    }
    if (known) {
        *known = second_form_stamp(pair.gz, dir, channel, form);
    }
    close(pair.gz);
    return form;
}

/* The active file is all that its writer has written of it: what was cut off of a copy of
 * it is there. A living writer tells a size before it writes, and is asked again. */
static bool scan_active_is_whole(int dir, const struct scan_channel *c, bool lives)
{
    char name[LAYOUT_PATH_MAX];
    struct stat st;
    layout_active(name, c->name, false);
    bool gap = c->highest > 0 && c->payloads != c->highest - c->lowest + 1;
    return c->told_active == c->highest + 1 && !gap && c->told_bytes >= 0 &&
           fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           (lives || st.st_size >= c->told_bytes);
}

static void scan_note_form(int dir, struct scan *scan, struct scan_channel *c,
                           enum second_form form, bool lives)
{
    char name[LAYOUT_PATH_MAX];
    bool active =
        !c->has_active && (form == SECOND_FORM_OTHER || form == SECOND_FORM_UNREADABLE);
    bool copy = form >= SECOND_FORM_COPY_ACTIVE ||
                (form == SECOND_FORM_CUT_ACTIVE && scan_active_is_whole(dir, c, lives));
    if (!active && !copy) {
        layout_active(name, c->name, true);
        unread_add(&scan->unread,
                   form == SECOND_FORM_OTHER ? UNREAD_LAYOUT : UNREAD_DAMAGED, name);
    }
    c->has_active_gz = active || (!copy && c->has_active);
}

void scan_note_second(const struct sys *sys, int dir, struct scan *scan, bool lives,
                      uint64_t known[CHANNEL_COUNT])
{
    for (unsigned i = 0; scan->layout == SESSION_LIVE && i < scan->channels; i++) {
        struct scan_channel *c = &scan->channel[i];
        enum channel index = channel_named(c->name);
        uint64_t *of = known && index != CHANNEL_COUNT ? &known[index] : NULL;
        if (c->has_active_gz) {
            scan_note_form(dir, scan, c, second_form_of(sys, dir, c->name, of), lives);
        }
    }
}

gpufl_status scan_session(const struct sys *sys, int root, const char *path,
                          const char *id, struct scan *out)
{
    memset(out, 0, sizeof *out);
    int dir = sys->open_beneath(root, path, O_RDONLY | O_DIRECTORY, 0);
    if (dir < 0) {
        return errno == ENOENT || errno == ENOTDIR ? GPUFL_ERR_NOT_FOUND : GPUFL_ERR_IO;
    }
    gpufl_status status = scan_directory(sys, dir, id, out);
    scan_note_second(sys, dir, out, false, NULL);
    close(dir);
    return status;
}
