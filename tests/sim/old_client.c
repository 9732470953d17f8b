/* SPDX-License-Identifier: Apache-2.0 */
/* Does what the existing clients do with their files. */
#include "tests/sim/old_client.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/sys.h"
#include "base/uuid.h"
#include "schema/layout.h"
#include "tests/sim/calls.h"

#define KEPT      100 /* rotated files of a channel; the next one deletes the oldest */
#define PATH_ROOM 500

static bool put_file(const char *path, const void *data, size_t len)
{
    int fd = __wrap_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    bool done = fd >= 0 && __wrap_write(fd, data, len) == (ssize_t)len;
    if (fd >= 0) {
        __wrap_close(fd);
    }
    return done;
}

/* \return the caller's; NULL if it cannot be read. */
static char *get_file(const char *path, size_t *len)
{
    struct stat st;
    int fd = __wrap_open(path, O_RDONLY);
    bool there = fd >= 0 && __wrap_fstat(fd, &st) == 0;
    *len = there ? (size_t)st.st_size : 0;
    char *data = there ? malloc(*len + 1) : NULL;
    if (data && __wrap_pread(fd, data, *len, 0) != (ssize_t)*len) {
        free(data);
        data = NULL;
    }
    if (fd >= 0) {
        __wrap_close(fd);
    }
    return data;
}

/* As gzip does. */
static bool pack_file(const char *from, const char *to)
{
    z_stream z = {0};
    size_t len;
    char *raw = get_file(from, &len);
    size_t room = len + len / 8 + 100;
    char *packed = raw ? malloc(room) : NULL;
    bool done = packed && deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, 0) == Z_OK;
    if (done) {
        z.next_in = (Bytef *)raw;
        z.avail_in = (uInt)len;
        z.next_out = (Bytef *)packed;
        z.avail_out = (uInt)room;
        done = deflate(&z, Z_FINISH) == Z_STREAM_END;
        deflateEnd(&z);
        done = done && put_file(to, packed, z.total_out);
    }
    free(packed);
    free(raw);
    return done;
}

/* `<dir>/[.tmp/]<channel>[.<number>].log[.gz]` */
static void path_of(char out[PATH_ROOM], const struct old_client *old, bool tmp,
                    const char *channel, uint32_t number, bool gz)
{
    char name[LAYOUT_PATH_MAX];
    if (number) {
        layout_numbered(name, channel, number, gz);
    } else {
        layout_active(name, channel, gz);
    }
    snprintf(out, PATH_ROOM, "%s/%s%s", old->dir, tmp ? LAYOUT_TMP_DIR "/" : "", name);
}

static int rename_path(const char *from, const char *to)
{
    return __wrap_renameat(AT_FDCWD, from, AT_FDCWD, to);
}

bool old_client_begin(struct old_client *old, const char *log_path, const char *id,
                      enum old_layout layout)
{
    char path[PATH_ROOM];
    *old = (struct old_client){.layout = layout, .lock_fd = -1};
    snprintf(old->id, sizeof old->id, "%s", id);
    snprintf(old->dir, sizeof old->dir, "%s/%s", log_path, id);
    if (__wrap_mkdir(old->dir, 0755) < 0 || layout == OLD_SHIFTING) {
        return layout == OLD_SHIFTING;
    }
    snprintf(path, sizeof path, "%s/" LAYOUT_TMP_DIR, old->dir);
    if (__wrap_mkdir(path, 0755) < 0) {
        return false;
    }
    snprintf(path, sizeof path, "%s/" LAYOUT_LOCK, old->dir);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    old->lock_fd = __wrap_open(path, O_RDWR | O_CREAT, 0600);
    return old->lock_fd >= 0 && __wrap_fcntl(old->lock_fd, F_OFD_SETLK, &lock) == 0;
}

size_t old_client_append(struct old_client *old, const char *channel, const char *data,
                         size_t len)
{
    char path[PATH_ROOM];
    path_of(path, old, old->layout == OLD_WINDOWS, channel, 0, false);
    int fd = __wrap_open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
    ssize_t n = fd >= 0 ? __wrap_write(fd, data, len) : -1;
    if (fd >= 0) {
        __wrap_close(fd);
    }
    return n > 0 ? (size_t)n : 0;
}

static bool put_sidecar(const struct old_client *old, const char *channel, uint32_t n)
{
    char path[PATH_ROOM], staged[PATH_ROOM], text[600], name[LAYOUT_PATH_MAX];
    unsigned char id[16];
    char id_text[UUID_TEXT];
    size_t len;
    path_of(path, old, true, channel, n, true);
    char *data = get_file(path, &len);
    if (!data) {
        return false;
    }
    uuid_make(&sys_real, id);
    uuid_format(id, id_text);
    layout_numbered(name, channel, n, true);
    int text_len = snprintf(
        text, sizeof text,
        "{\"schema_version\":1,\"type\":\"transport_window\",\"window_id\":\"%s\","
        "\"session_id\":\"%s\",\"channel\":\"%s\",\"window_sequence\":%u,"
        "\"opened_mono_ms\":1,\"closed_mono_ms\":2,\"created_wall_ms\":3,"
        "\"payload_file\":\"%s\",\"payload_bytes\":%zu,\"payload_crc32\":%lu}\n",
        id_text, old->id, channel, n, name, len,
        crc32(0, (const Bytef *)data, (uInt)len));
    free(data);
    layout_sidecar(name, channel, n);
    snprintf(staged, sizeof staged, "%s/%s.part.0", old->dir, name);
    snprintf(path, sizeof path, "%s/%s", old->dir, name);
    return put_file(staged, text, (size_t)text_len) && rename_path(staged, path) == 0;
}

static void rotate_windows(struct old_client *old, const char *channel, int index)
{
    char from[PATH_ROOM];
    char raw[PATH_ROOM];
    char packed[PATH_ROOM];
    uint32_t n = old->windows[index] + 1;
    path_of(from, old, true, channel, 0, false);
    path_of(raw, old, true, channel, n, false);
    if (rename_path(from, raw) < 0) {
        return;
    }
    old->windows[index] = n;
    path_of(packed, old, true, channel, n, true);
    if (!pack_file(raw, packed) || __wrap_unlinkat(AT_FDCWD, raw, 0) < 0 ||
        !put_sidecar(old, channel, n)) {
        return;
    }
    path_of(raw, old, false, channel, n, true);
    rename_path(packed, raw);
}

static void pack_in_place(const struct old_client *old, const char *channel, uint32_t n)
{
    char raw[PATH_ROOM];
    char packed[PATH_ROOM];
    path_of(raw, old, false, channel, n, false);
    path_of(packed, old, false, channel, n, true);
    if (old->packs && pack_file(raw, packed)) {
        __wrap_unlinkat(AT_FDCWD, raw, 0);
    }
}

static void shift_up(const struct old_client *old, const char *channel, uint32_t n)
{
    char from[PATH_ROOM];
    char to[PATH_ROOM];
    for (int gz = 1; gz >= 0; gz--) {
        path_of(from, old, false, channel, n, gz);
        path_of(to, old, false, channel, n + 1, gz);
        if (rename_path(from, to) == 0) {
            return;
        }
    }
}

static void rotate_shifting(struct old_client *old, const char *channel, int index)
{
    char from[PATH_ROOM];
    char to[PATH_ROOM];
    uint32_t have = old->windows[index] < KEPT ? old->windows[index] : KEPT;
    for (int gz = 0; have == KEPT && gz < 2; gz++) {
        path_of(from, old, false, channel, KEPT, gz);
        __wrap_unlinkat(AT_FDCWD, from, 0);
    }
    for (uint32_t n = have; n > 0; n--) {
        shift_up(old, channel, n);
    }
    path_of(from, old, false, channel, 0, false);
    path_of(to, old, false, channel, 1, false);
    if (rename_path(from, to) == 0) {
        old->windows[index]++;
        pack_in_place(old, channel, 1);
    }
}

void old_client_append_head(struct old_client *old, const char *channel,
                            struct text *written)
{
    struct text head = {0};
    text_printf(&head, "{\"type\":\"process_info\",\"session_id\":\"%s\",\"c\":\"%s\"}\n",
                old->id, channel);
    size_t n = old_client_append(old, channel, head.data, head.len);
    text_append(written, head.data, n);
    text_fini(&head);
}

void old_client_rotate(struct old_client *old, const char *channel, int index)
{
    if (old->layout == OLD_WINDOWS) {
        rotate_windows(old, channel, index);
    } else {
        rotate_shifting(old, channel, index);
    }
}

void old_client_end(struct old_client *old, const char *const *channel, int channels)
{
    char path[PATH_ROOM];
    for (int c = 0; c < channels; c++) {
        if (old->layout == OLD_WINDOWS) {
            rotate_windows(old, channel[c], c);
        } else {
            pack_in_place(old, channel[c], 0);
        }
    }
    snprintf(path, sizeof path, "%s/" LAYOUT_TMP_DIR, old->dir);
    if (old->layout == OLD_WINDOWS) {
        __wrap_unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
        __wrap_close(old->lock_fd);
    }
}

bool old_client_was_packing(const struct old_client *old, const struct inode *dir)
{
    char plain[INODE_NAME_MAX];
    for (unsigned i = 0; old->layout == OLD_SHIFTING && i < dir->names; i++) {
        const char *name = dir->name[i].name;
        size_t len = strlen(name);
        bool gz = len > 3 && strcmp(name + len - 3, ".gz") == 0;
        snprintf(plain, sizeof plain, "%.*s", (int)(gz ? len - 3 : 0), name);
        if (gz && inode_look(dir, plain)) {
            return true;
        }
    }
    return false;
}
