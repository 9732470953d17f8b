/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the sizes of a complete session's files with where they were sent to. Only
 * sizes and times of change are asked, because there may be very many such sessions; a
 * gzip file tells the size of what it holds at its end. What was sent of a file is
 * compared with it when its time of change is another one than at the look before, and
 * names are listed when that of the directory is. */
#include "upload/lifecycle/growth.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "schema/layout.h"
#include "upload/core/session.h"
#include "upload/lifecycle/inspect_directory.h"
#include "upload/lifecycle/missing.h"
#include "upload/owners/owners.h"
#include "upload/source/gz_file.h"
#include "upload/source/scan_session.h"
#include "upload/source/tail.h"

/* Where a channel of the session was sent to; all zero for one that had no file. */
struct growth_channel {
    const struct root *root;
    int dir; /* the descriptor that the path is beneath */
    const char *path;
    const char *name;
    const struct parked_session *of;
    struct packed_stream at;
    struct second_known second; /**< what its compressed active file was found to be */
    uint64_t changed_ns;        /**< times of change of its files, added up */
    bool later;                 /**< the file after that is there */
    bool seal_changed; /**< the newest sealed file before it has another size … */
    bool seal_same;    /**< … or the same one */
    bool same_size;    /**< the file that was sent last is there, and ends where it did */
    bool shorter;      /**< it ends before that */
};

/* \p number 0 = the active file. \return the bytes of lines in it, 0 without one. */
static uint64_t growth_bytes(struct growth_channel *c, uint32_t number, bool gz)
{
    const struct sys *sys = c->root->engine->config.sys;
    struct stat st;
    char name[LAYOUT_PATH_MAX];
    char path[JOURNAL_PATH_MAX + LAYOUT_PATH_MAX];
    if (number) {
        layout_numbered(name, c->name, number, gz);
    } else {
        layout_active(name, c->name, gz);
    }
    snprintf(path, sizeof path, "%s/%s", c->path, name);
    if (fstatat(c->dir, path, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode)) {
        return 0;
    }
    uint64_t bytes = (uint64_t)st.st_size;
    c->changed_ns +=
        (uint64_t)st.st_ctim.tv_sec * 1000000000u + (uint64_t)st.st_ctim.tv_nsec;
    int fd = gz ? file_open(sys, c->dir, path) : -1;
    if (fd >= 0) {
        bytes = gz_file_says_bytes(sys, fd, bytes);
        close(fd);
    }
    return bytes;
}

/* Either form of a file. */
static uint64_t growth_either(struct growth_channel *c, uint32_t number)
{
    uint64_t plain = growth_bytes(c, number, false);
    return plain ? plain : growth_bytes(c, number, true);
}

/* Where a person gave up what is not read, it may be a copy of the active file. */
static uint64_t growth_numbered(struct growth_channel *c, uint32_t number)
{
    const struct sys *sys = c->root->engine->config.sys;
    bool copy = c->of->unread_given_up &&
                scan_number_is_copy(sys, c->dir, c->path, c->name, number);
    return copy ? 0 : growth_either(c, number);
}

/* \return how much there is that was not sent, in bytes of lines. */
static uint64_t growth_of_channel(struct growth_channel *c)
{
    uint64_t offset = c->at.offset;
    if (c->at.kind == STREAM_VERBATIM) {
        return growth_bytes(c, c->at.file, true) + growth_bytes(c, c->at.file, false);
    }
    uint64_t active = growth_either(c, 0);
    if (c->at.head) { /* the file may have been rotated since */
        uint64_t last = active ? active : growth_either(c, 1);
        c->same_size = last == offset;
        return last == offset ? 0 : last;
    }
    uint64_t later = growth_numbered(c, c->at.file + 1);
    c->later = later != 0;
    uint64_t sealed = c->at.file ? growth_numbered(c, c->at.file) : 0;
    c->same_size = (sealed ? sealed : active) == offset;
    c->shorter = (sealed ? sealed : active) < offset;
    if (sealed) {
        return (sealed == offset ? 0 : sealed) + active + later;
    }
    return (active == offset ? 0 : active) + later;
}

/* All of the newest sealed file was sent if a later one is being read. Of one that a
 * person gave up, perhaps not. */
static void growth_look_at_seal(struct growth_channel *c)
{
    const struct record_sealed *sealed = &c->at.sealed;
    bool sent = c->at.kind == STREAM_BATCHED && c->at.layout == 1 + SESSION_LIVE &&
                sealed->mark.bytes && sealed->file < c->at.file &&
                !(c->at.marks & MARK_LOST);
    uint64_t before_ns = c->changed_ns;
    uint64_t bytes = sent ? growth_bytes(c, sealed->file, false) : 0;
    bool there = c->changed_ns != before_ns;
    c->seal_changed = there && bytes != sealed->bytes;
    c->seal_same = there && bytes == sealed->bytes;
}

/* A reader is told by its address: each channel has one. */
static struct gz_cache *growth_cache(const struct growth_channel *c)
{
    struct engine *engine = c->root->engine;
    return gz_cache_for(&engine->gz, owners_account(&engine->owners, c->of->owner),
                        (const char *)c->of + c->at.channel);
}

static struct tail_where growth_where(const struct growth_channel *c)
{
    return (struct tail_where){.root = c->dir,
                               .path = c->path,
                               .channel = c->name,
                               .layout = (enum session_layout)(c->at.layout - 1),
                               .file = c->at.file,
                               .offset = c->at.offset,
                               .mark = c->at.mark,
                               .mark_at = c->at.offset,
                               .second = (struct second_known *)(uintptr_t)&c->second,
                               .cache = growth_cache(c),
                               .head = c->at.head};
}

/* \return true if a person gave up what is there of the channel, as it cannot be read. */
static bool growth_was_given_up(const struct growth_channel *c)
{
    const struct tail_where where = growth_where(c);
    return c->at.marks & MARK_ENDED && c->at.kind == STREAM_BATCHED && c->at.layout &&
           !c->later && !tail_has_more(c->root->engine->config.sys, &where);
}

static bool growth_has(const struct growth_channel *c, const char *name)
{
    char path[JOURNAL_PATH_MAX + LAYOUT_PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", c->path, name);
    return faccessat(c->dir, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* If another uploader has reported it, nothing of it was sent by this one. */
static bool growth_may_be_anothers(const struct root *root,
                                   const struct parked_session *s)
{
    return s->streams == 0 && !root->engine->config.force && !root->origin.now.moved &&
           root->backend != BACKEND_MOVED_TO;
}

/* \return true if another uploader has reported the session, a part of whose windows the
 * channel has: as at its inspection, they count as sent. */
static bool growth_is_anothers(const struct growth_channel *c,
                               const struct parked_session *s)
{
    char sidecar[LAYOUT_PATH_MAX];
    layout_sidecar(sidecar, c->name, 1);
    return growth_may_be_anothers(c->root, s) && growth_has(c, sidecar) &&
           growth_has(c, LAYOUT_UPLOADED);
}

/* \return true if its disk lost what was delivered of the channel, and nothing is new.
 * Where a person gave up the rest, the file may be an earlier one, or be whole again. */
static bool growth_was_cut(const struct growth_channel *c)
{
    const struct tail_where where = growth_where(c);
    if (c->at.end.state == END_COPY ||
        (c->at.end.state == END_CUT && c->at.marks & MARK_LOST)) {
        return !c->later &&
               !(c->at.mark.bytes &&
                 tail_compare(c->root->engine->config.sys, &where) == FILE_MATCHES);
    }
    return c->at.end.state == END_CUT && !c->later && c->shorter;
}

static bool growth_rewritten(const struct growth_channel *c)
{
    const struct tail_where where = growth_where(c);
    bool asks = c->same_size && c->at.kind == STREAM_BATCHED && c->at.layout &&
                c->at.mark.bytes && !(c->at.marks & MARK_ENDED);
    return asks && tail_compare(c->root->engine->config.sys, &where) == FILE_DIFFERS;
}

static bool growth_seal_differs(const struct growth_channel *c)
{
    const struct record_sealed *sealed = &c->at.sealed;
    struct tail_where where = growth_where(c);
    where.file = sealed->file;
    where.offset = where.mark_at = sealed->bytes;
    where.mark = sealed->mark;
    return tail_compare(c->root->engine->config.sys, &where) == FILE_DIFFERS;
}

/* One of the same size is read only if something has \p changed. */
static void growth_note_seal(struct parked_session *s, const struct growth_channel *c,
                             bool changed)
{
    uint8_t bit = (uint8_t)(1u << c->at.channel);
    bool differs =
        c->seal_changed ||
        (c->seal_same && (changed ? growth_seal_differs(c) : (s->rewritten & bit) != 0));
    bool known = c->at.kind != STREAM_UNSET;
    s->rewritten = !known    ? s->rewritten
                   : differs ? (uint8_t)(s->rewritten | bit)
                             : (uint8_t)(s->rewritten & ~bit);
}

static struct growth_channel growth_channel_of(const struct root *root, int dir,
                                               const struct parked_session *s,
                                               const struct packed_stream *stream,
                                               unsigned channel)
{
    struct growth_channel c = {.root = root,
                               .dir = dir < 0 ? root->fd : dir,
                               .path = dir < 0 ? s->node.path : ".",
                               .name = root->channels.name[channel],
                               .of = s};
    for (unsigned k = 0; k < s->streams; k++) {
        if (stream[k].channel == channel) {
            c.at = stream[k];
        }
    }
    return c;
}

/* What a compressed file holds is looked at in steps: then this look counts for nothing.
 * What a person gave up does not count while it cannot be read, whatever becomes of it.
 * The first look of a run cannot tell what was there when the disk had lost the rest. */
bool growth_of(const struct root *root, int dir, struct parked_session *s)
{
    const struct parked_session before = *s;
    struct gz_cache *gz = &root->engine->gz;
    bool first = s->unsent == 0;
    bool unsent = false;
    uint64_t bytes = 0;
    uint64_t changed_ns = 0;
    struct growth_channel channel[SCAN_CHANNELS_MAX];
    struct packed_stream stream[SCAN_CHANNELS_MAX];
    gz->busy = false;
    parked_streams(s, stream);
    for (unsigned i = 0; i < root->channels.count; i++) {
        channel[i] = growth_channel_of(root, dir, s, stream, i);
        uint64_t more = growth_of_channel(&channel[i]);
        bool counts = more && !growth_was_given_up(&channel[i]) &&
                      !growth_is_anothers(&channel[i], s);
        more = counts ? more : 0;
        unsent = unsent || (more && !(first && growth_was_cut(&channel[i])));
        bytes += more;
        growth_look_at_seal(&channel[i]);
        changed_ns += channel[i].changed_ns;
    }
    s->unsent = (uint32_t)hash64_word(HASH64_BASIS, bytes) | 1;
    bool grew = unsent && s->unsent != before.unsent;
    bool changed = s->changed_ns && s->changed_ns != changed_ns;
    s->changed_ns = changed_ns;
    for (unsigned i = 0; i < root->channels.count; i++) {
        growth_note_seal(s, &channel[i], changed);
        grew = grew || (changed && growth_rewritten(&channel[i]));
    }
    if (gz->busy) {
        *s = before;
    }
    return grew && !gz->busy;
}

/* The number of the file in which it ended: the newest that is there, or the one before,
 * if it was rotated since. */
static uint32_t growth_index(struct growth_channel *c, const struct scan_channel *found)
{
    bool newer = false;
    for (uint32_t i = 0; i <= SCAN_SHIFTING_MAX; i++) {
        bool there = i ? scan_numbers_has(&found->rotated, i)
                       : found->has_active || found->has_active_gz;
        if (there && (newer || growth_either(c, i) == c->at.offset)) {
            return i;
        }
        newer = newer || there;
    }
    return SCAN_SHIFTING_MAX;
}

static bool growth_has_older(struct growth_channel *c, const struct scan_channel *found)
{
    const struct missing_late late = {.rotated = &found->rotated,
                                      .stream = c->at.id,
                                      .file = c->at.file,
                                      .index = growth_index(c, found)};
    return missing_any_late(c->root, &late);
}

/* What comes next is looked at by its name, but any other number may have come. An empty
 * file may have been passed without a record. */
static bool growth_has_later(struct growth_channel *c, const struct scanning *scanning)
{
    const struct scan_channel *found = scan_find_channel(&scanning->found, c->name);
    bool live = scanning->dir.live || c->at.layout == 1 + SESSION_LIVE;
    bool anew = c->at.kind == STREAM_UNSET;
    bool windows =
        c->at.kind == STREAM_VERBATIM || (anew && scanning->marks.sidecar && !live);
    if (found && c->at.head) {
        return growth_has_older(c, found);
    }
    if (!found || !(live || windows || anew)) {
        return false;
    }
    uint32_t highest = live || windows ? found->highest : found->highest_shifting;
    uint32_t read = c->at.kind == STREAM_VERBATIM ? c->at.file - 1 : c->at.file;
    return highest > read && (windows || growth_numbered(c, highest));
}

/* As at an inspection, all that is there of a session of windows counts as sent if
 * another uploader has reported it. */
static bool growth_any_later(const struct root *root, const struct parked_session *s,
                             const struct scanning *scanning)
{
    struct packed_stream stream[SCAN_CHANNELS_MAX];
    bool windows = scanning->marks.sidecar && !scanning->dir.live;
    bool later = windows && scanning->found.has_tmp; /* something is to be published */
    if (windows && scanning->found.has_uploaded && growth_may_be_anothers(root, s)) {
        return false;
    }
    parked_streams(s, stream);
    for (unsigned i = 0; i < root->channels.count && !later; i++) {
        struct growth_channel c = growth_channel_of(root, -1, s, stream, i);
        later = growth_has_later(&c, scanning);
    }
    return later;
}

/* What the names in its directory tell. */
enum growth_names {
    GROWTH_NAMES_READ,  /* of most directories, that all of it is read */
    GROWTH_NAMES_ODD,   /* that another look has to show that */
    GROWTH_NAMES_LATER, /* that a file came whose number is behind what was sent */
};

static enum growth_names growth_look_at_names(struct root *root,
                                              const struct parked_session *s)
{
    struct scanning scanning;
    int dir = root->engine->config.sys->open_beneath(root->fd, s->node.path,
                                                     O_RDONLY | O_DIRECTORY, 0);
    if (dir < 0) {
        return GROWTH_NAMES_READ;
    }
    scan_begin(&scanning, dir);
    bool all = scan_some(&scanning, VISITS_STEP_NAMES + 1);
    bool later = all && growth_any_later(root, s, &scanning);
    root->inspected += scanning.names / INSPECTION_NAMES;
    close(dir);
    return later                            ? GROWTH_NAMES_LATER
           : !all || scan_is_odd(&scanning) ? GROWTH_NAMES_ODD
                                            : GROWTH_NAMES_READ;
}

bool growth_of_names(struct root *root, struct parked_session *s)
{
    struct inspection seen;
    struct stat st;
    uint64_t before_ns = s->names_ns;
    if (fstatat(root->fd, s->node.path, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        return false;
    }
    s->names_ns = session_changed(&st);
    enum growth_names names =
        s->names_ns == before_ns ? GROWTH_NAMES_READ : growth_look_at_names(root, s);
    if (names != GROWTH_NAMES_ODD) {
        return names == GROWTH_NAMES_LATER;
    }
    root->inspected++;
    gpufl_status status =
        inspect_directory(root, s->node.path, NULL, VISITS_STEP_NAMES, &seen);
    bool others = seen.scan.unread.names && seen.scan.unread.mark != s->unread_given_up;
    s->hides_end = s->hides_end || (status == GPUFL_OK && scan_hides_end(&seen.scan));
    return status == GPUFL_BUSY || (status == GPUFL_OK && others);
}
