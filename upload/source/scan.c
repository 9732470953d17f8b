/* SPDX-License-Identifier: Apache-2.0 */
/* Inspects a session directory. Its contents are not trusted: names are classified, types
 * are checked, links are not followed. */
#include "upload/source/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static unsigned scan_index(const struct scan *scan, const char *name)
{
    unsigned i = 0;
    while (i < scan->channels && strcmp(scan->channel[i].name, name) != 0) {
        i++;
    }
    return i;
}

const struct scan_channel *scan_find_channel(const struct scan *scan, const char *name)
{
    unsigned i = scan_index(scan, name);
    return i < scan->channels ? &scan->channel[i] : NULL;
}

static struct scan_channel *scan_add_channel(struct scan *scan, const char *name)
{
    unsigned i = scan_index(scan, name);
    if (i < scan->channels) {
        return &scan->channel[i];
    }
    if (i == SCAN_CHANNELS_MAX) {
        return NULL;
    }
    struct scan_channel *channel = &scan->channel[scan->channels++];
    *channel = (struct scan_channel){0};
    memcpy(channel->name, name, strlen(name) + 1);
    return channel;
}

static void scan_note_number(struct scan_channel *channel, uint32_t number)
{
    channel->payloads++;
    if (channel->lowest == 0 || number < channel->lowest) {
        channel->lowest = number;
    }
    if (number > channel->highest) {
        channel->highest = number;
    }
    scan_numbers_add(&channel->rotated, number);
    if (number <= SCAN_SHIFTING_MAX && number > channel->highest_shifting) {
        channel->highest_shifting = number;
    }
}

static bool scan_has(const struct scanned_dir *dir, const char *file)
{
    return faccessat(dir->fd, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The compressed form is read only where the plain one is not there, or, live, ends; of a
 * window that was published, the plain one where the compressed one is not. Numbers of
 * 1.1 only rise: one that is still at its number was there when the other form was. */
static bool scan_is_second_form(const struct scanned_dir *dir, const char *file,
                                const struct layout_name *name, const struct stat *st)
{
    char other[LAYOUT_PATH_MAX];
    char sidecar[LAYOUT_PATH_MAX];
    struct stat now;
    if (name->kind != LAYOUT_NUMBERED) {
        return false;
    }
    layout_numbered(other, name->channel, name->number, !name->gz);
    layout_sidecar(sidecar, name->channel, name->number);
    bool published = !dir->live && scan_has(dir, sidecar);
    return name->gz != published && scan_has(dir, other) &&
           fstatat(dir->fd, file, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
           now.st_ino == st->st_ino;
}

static gpufl_status note_payload(struct scan *scan, const struct scanned_dir *dir,
                                 const char *file, const struct layout_name *name)
{
    struct stat st;
    if (!channel_is_known(name->channel)) {
        unread_add(&scan->unread, UNREAD_CHANNEL, file);
        return GPUFL_OK;
    }
    if (fstatat(dir->fd, file, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        /* Gone since it was listed: the next scan will tell. */
        return errno == ENOENT ? GPUFL_OK : GPUFL_ERR_IO;
    }
    scan->is_begun = true;
    if (!file_may_be_read(&st, &dir->st)) {
        unread_add(&scan->unread, S_ISREG(st.st_mode) ? UNREAD_LINKED : UNREAD_IRREGULAR,
                   file);
        return GPUFL_OK;
    }
    if (scan_is_second_form(dir, file, name, &st)) {
        unread_add(&scan->unread, name->gz ? UNREAD_SECOND : UNREAD_LAYOUT, file);
        return GPUFL_OK;
    }
    if (st.st_mtim.tv_sec > scan->last_write_s) {
        scan->last_write_s = st.st_mtim.tv_sec;
    }
    struct scan_channel *channel = scan_add_channel(scan, name->channel);
    if (!channel) {
        unread_add(&scan->unread, UNREAD_CHANNEL, file);
    } else if (name->kind == LAYOUT_NUMBERED) {
        scan_note_number(channel, name->number);
        channel->numbered_bytes += (uint64_t)st.st_size;
        channel->disk_bytes += (uint64_t)st.st_blocks * 512;
    } else {
        channel->disk_bytes += (uint64_t)st.st_blocks * 512;
        channel->has_active_gz = channel->has_active_gz || name->gz;
        channel->has_active = channel->has_active || !name->gz;
        channel->active_bytes = name->gz ? channel->active_bytes : (uint64_t)st.st_size;
        channel->active_changed_ns += st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
    }
    return GPUFL_OK;
}

/* It tells how files are to be read. What has its name and is no file says nothing. */
static gpufl_status scan_note_sidecar(struct scan *scan, const struct scanned_dir *dir,
                                      const char *file, const struct layout_name *name,
                                      struct scan_marks *marks)
{
    struct stat st;
    if (fstatat(dir->fd, file, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        return errno == ENOENT ? GPUFL_OK : GPUFL_ERR_IO;
    }
    if (!S_ISREG(st.st_mode)) {
        unread_add(&scan->unread, UNREAD_IRREGULAR, file);
        return GPUFL_OK;
    }
    struct scan_channel *channel =
        channel_is_known(name->channel) ? scan_add_channel(scan, name->channel) : NULL;
    marks->sidecar = true;
    if (channel && name->number > channel->highest) {
        channel->highest = name->number;
    }
    return GPUFL_OK;
}

/* It tells that nothing is missing, so one that others may have planted counts for
 * nothing. */
static void scan_note_next(struct scan *scan, const struct scanned_dir *dir,
                           const char *file, const struct layout_name *name)
{
    struct stat st;
    enum channel channel = channel_named(name->channel);
    if (channel != CHANNEL_COUNT && name->number > scan->next[channel] &&
        fstatat(dir->fd, file, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size == 0 &&
        st.st_uid == dir->st.st_uid && file_may_be_read(&st, &dir->st)) {
        scan->next[channel] = name->number;
    }
}

static bool is_file(int dir, const char *file)
{
    struct stat st;
    return fstatat(dir, file, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

static gpufl_status scan_note_name(struct scan *scan, const struct scanned_dir *dir,
                                   const char *file, struct scan_marks *marks)
{
    struct layout_name name = layout_parse(file);
    switch (name.kind) {
    case LAYOUT_ACTIVE:
    case LAYOUT_NUMBERED:
        return note_payload(scan, dir, file, &name);
    case LAYOUT_SIDECAR:
        return scan_note_sidecar(scan, dir, file, &name, marks);
    case LAYOUT_NEXT:
        scan_note_next(scan, dir, file, &name);
        break;
    case LAYOUT_LOSS:
        scan->has_loss = true;
        break;
    case LAYOUT_IS_LOCK:
        scan->has_lock = true;
        break;
    case LAYOUT_IS_TMP:
        scan->has_tmp = true;
        break;
    case LAYOUT_IS_UPLOADED:
        scan->has_uploaded = is_file(dir->fd, file);
        break;
    case LAYOUT_IS_MANIFEST:
        marks->manifest = true;
        break;
    case LAYOUT_OTHER:
        unread_add_name(&scan->unread, file);
        break;
    }
    return GPUFL_OK;
}

/* One that is listed, not known and not there might have held records. */
static void scan_note_listed(struct scan *scan, int dir)
{
    char name[LAYOUT_PATH_MAX];
    for (unsigned i = 0; i < scan->manifest.channels; i++) {
        layout_active(name, scan->manifest.channel[i], false);
        if (!channel_is_known(scan->manifest.channel[i]) &&
            faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT) {
            unread_add(&scan->unread, UNREAD_CHANNEL, name);
        }
    }
}

/* A manifest that says nothing must not change the session's layout. */
static gpufl_status read_manifest(const struct sys *sys, int dir, const char *id,
                                  struct scan *scan)
{
    char *text;
    size_t len;
    gpufl_status status =
        file_read(sys, dir, LAYOUT_MANIFEST, IDENTITY_MAX_BYTES, &text, &len);
    if (status != GPUFL_OK) {
        scan->manifest_state =
            status == GPUFL_ERR_FORMAT ? SCAN_MANIFEST_DAMAGED : SCAN_MANIFEST_UNREADABLE;
        return status == GPUFL_ERR_NOMEM ? GPUFL_ERR_IO : GPUFL_OK;
    }
    if (manifest_parse(text, len, id, &scan->manifest) != GPUFL_OK) {
        scan->manifest_state = manifest_is_newer(text, len) ? SCAN_MANIFEST_NEWER
                               : manifest_names(text, len, scan->other)
                                   ? SCAN_MANIFEST_OTHER
                                   : SCAN_MANIFEST_DAMAGED;
    } else {
        scan_note_listed(scan, dir);
    }
    free(text);
    return GPUFL_OK;
}

/* A lock file alone proves nothing: other tools plant one in v1.1 directories. */
static enum session_layout scan_layout_of(const struct scan *scan, bool sidecar)
{
    if (scan->manifest_state != SCAN_MANIFEST_NONE) {
        return SESSION_LIVE;
    }
    if (scan->has_tmp || sidecar) {
        return SESSION_WINDOWS;
    }
    return SESSION_SHIFTING;
}

static void scan_note_told(const struct sys *sys, int dir, struct scan_channel *channel,
                           const struct active_files *told, bool now)
{
    enum channel index = channel_named(channel->name);
    uint32_t number = index == CHANNEL_COUNT ? 0 : told->number[index];
    channel->noted = number;
    if (number == 0 || !(now || told_agrees(dir, index, told, channel->highest))) {
        return;
    }
    channel->told = true;
    if (number > channel->highest) {
        channel->told_active = number;
        channel->told_bytes = now ? told->bytes[index] : -1;
        channel->told_fit =
            now && channel->has_active ? told_compare(sys, dir, index, told) : TOLD_FITS;
    }
    if (number > channel->highest + 1) {
        channel->highest = number - 1;
    }
}

/* Beside the active file, what another program gave its next number is none of ours. */
static void scan_note_beside(const struct sys *sys, int dir, struct scan *scan,
                             struct scan_channel *c, const struct active_files *told)
{
    uint32_t number = scan->layout == SESSION_LIVE ? c->highest : c->lowest == 1;
    if (scan->layout == SESSION_WINDOWS || !c->has_active || !number ||
        !told_note_beyond(sys, dir, c->name, number, told, &scan->unread)) {
        return;
    }
    scan_numbers_remove(&c->rotated, number);
    c->highest_shifting = scan_numbers_highest(&c->rotated);
    c->lowest = c->lowest < number ? c->lowest : scan_numbers_lowest(&c->rotated);
    uint32_t below = number > SCAN_SHIFTING_MAX ? number - 1 : c->highest_shifting;
    c->highest = c->highest > number ? c->highest : below;
}

/* The number that a file got when it was sealed: it is missed also as the last one. */
static gpufl_status scan_note_sealed(const struct sys *sys, int dir, struct scan *scan)
{
    struct active_files told = {0};
    bool now = false;
    gpufl_status status = scan->layout == SESSION_LIVE && scan->has_lock
                              ? told_read(sys, dir, &told, &now)
                              : GPUFL_ERR_NOT_FOUND;
    for (unsigned i = 0; status != GPUFL_ERR_IO && i < scan->channels; i++) {
        struct scan_channel *c = &scan->channel[i];
        enum channel index = channel_named(c->name);
        scan_note_beside(sys, dir, scan, c, &told);
        bool later = scan->is_copy && index != CHANNEL_COUNT &&
                     told_differs(dir, index, &told, c->highest);
        scan_note_told(sys, dir, c, &told, now);
        c->told_fit = later && c->told_fit == TOLD_FITS ? TOLD_LATER : c->told_fit;
    }
    return status == GPUFL_ERR_IO ? status : GPUFL_OK;
}

/* Files that the layout, which is known only now, has no place for. */
static void scan_note_misplaced(struct scan *scan)
{
    char name[LAYOUT_PATH_MAX];
    for (unsigned i = 0; i < scan->channels; i++) {
        struct scan_channel *c = &scan->channel[i];
        if (scan->layout == SESSION_SHIFTING && c->highest > c->highest_shifting) {
            layout_numbered(name, c->name, c->highest, false);
            unread_add(&scan->unread, UNREAD_NUMBER, name);
            c->highest = c->highest_shifting;
        }
        if (scan->layout == SESSION_WINDOWS && c->has_active) {
            layout_active(name, c->name, false);
            unread_add(&scan->unread, UNREAD_LAYOUT, name);
        }
        if (scan->layout == SESSION_WINDOWS && c->has_active_gz) {
            layout_active(name, c->name, true);
            unread_add(&scan->unread, UNREAD_LAYOUT, name);
        }
    }
}

void scan_begin(struct scanning *scanning, int fd)
{
    scanning->names = 0;
    scanning->marks = (struct scan_marks){0};
    scanning->dir = (struct scanned_dir){.fd = fd};
    memset(&scanning->found, 0, sizeof scanning->found);
    listing_of(&scanning->listing, fd);
    scanning->status = fstat(fd, &scanning->dir.st) == 0 ? GPUFL_OK : GPUFL_ERR_IO;
    scanning->dir.live = faccessat(fd, LAYOUT_MANIFEST, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool scan_some(struct scanning *scanning, unsigned names)
{
    for (unsigned i = 0; i < names && scanning->status == GPUFL_OK; i++) {
        const struct dirent64 *entry = listing_next(&scanning->listing);
        if (!entry) {
            return true;
        }
        scanning->names++;
        scanning->status = scan_note_name(&scanning->found, &scanning->dir, entry->d_name,
                                          &scanning->marks);
    }
    return scanning->status != GPUFL_OK;
}

bool scan_shows_session(const struct scanning *scanning)
{
    return scanning->dir.live || scanning->found.is_begun || scanning->found.has_tmp;
}

gpufl_status scan_end(struct scanning *scanning, const struct sys *sys, const char *id,
                      struct scan *out)
{
    const struct scan_marks *marks = &scanning->marks;
    gpufl_status status = scanning->status;
    *out = scanning->found;
    out->manifest_state = marks->manifest ? SCAN_MANIFEST_VALID : SCAN_MANIFEST_NONE;
    if (status == GPUFL_OK && !scanning->listing.error && marks->manifest && id) {
        status = read_manifest(sys, scanning->dir.fd, id, out);
    }
    out->layout = scan_layout_of(out, marks->sidecar);
    out->is_copy = told_is_copy(scanning->dir.fd, &out->manifest);
    if (status == GPUFL_OK && !scanning->listing.error) {
        status = scan_note_sealed(sys, scanning->dir.fd, out);
    }
    if (status != GPUFL_OK || scanning->listing.error) {
        memset(out, 0, sizeof *out);
        /* Files that were not listed would count as deleted, and those that were told of
         * and deleted as never made. */
        return GPUFL_ERR_IO;
    }
    scan_note_misplaced(out);
    bool valid = out->manifest_state == SCAN_MANIFEST_VALID;
    bool listed =
        valid ? out->manifest.channels > 0 : out->manifest_state != SCAN_MANIFEST_NONE;
    return out->channels || out->has_tmp || out->is_begun || listed ? GPUFL_OK
                                                                    : GPUFL_ERR_NOT_FOUND;
}

gpufl_status scan_directory(const struct sys *sys, int fd, const char *id,
                            struct scan *out)
{
    struct scanning scanning;
    scan_begin(&scanning, fd);
    (void)scan_some(&scanning, UINT_MAX);
    return scan_end(&scanning, sys, id, out);
}
