/* SPDX-License-Identifier: Apache-2.0 */
/* Lists a session directory. Everything in it is hostile: names are classified, types
 * checked, nothing is followed. */
#include "upload/scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "upload/base/file.h"

static struct scan_channel *channel_of(struct scan *scan, const char *name)
{
    for (unsigned i = 0; i < scan->channels; i++) {
        if (strcmp(scan->channel[i].name, name) == 0) {
            return &scan->channel[i];
        }
    }
    if (scan->channels == SCAN_CHANNELS_MAX) {
        return NULL;
    }
    struct scan_channel *channel = &scan->channel[scan->channels++];
    *channel = (struct scan_channel){0};
    memcpy(channel->name, name, strlen(name) + 1);
    return channel;
}

static gpufl_status note_payload(struct scan *scan, int dir, const char *file,
                                 const struct layout_name *name)
{
    struct stat st;
    if (fstatat(dir, file, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        /* Gone between the listing and now: the next look settles it. */
        return errno == ENOENT ? GPUFL_OK : GPUFL_ERR_IO;
    }
    struct scan_channel *channel =
        S_ISREG(st.st_mode) && st.st_nlink <= 1 ? channel_of(scan, name->channel) : NULL;
    if (!channel) {
        scan->refused++;
        return GPUFL_OK;
    }
    if (name->kind == LAYOUT_NUMBERED) {
        channel->payloads++;
        if (channel->lowest == 0 || name->number < channel->lowest) {
            channel->lowest = name->number;
        }
        if (name->number > channel->highest) {
            channel->highest = name->number;
        }
    } else if (name->gz) {
        channel->has_active_gz = true;
    } else {
        channel->has_active = true;
        channel->active_bytes = (uint64_t)st.st_size;
    }
    return GPUFL_OK;
}

struct marks {
    bool manifest;
    bool sidecar;
};

static gpufl_status note_name(struct scan *scan, int dir, const char *file,
                              struct marks *marks)
{
    struct layout_name name = layout_parse(file);
    switch (name.kind) {
    case LAYOUT_ACTIVE:
    case LAYOUT_NUMBERED:
        return note_payload(scan, dir, file, &name);
    case LAYOUT_SIDECAR: {
        struct scan_channel *channel = channel_of(scan, name.channel);
        marks->sidecar = true;
        if (channel && name.number > channel->highest) {
            channel->highest = name.number;
        }
        break;
    }
    case LAYOUT_LOSS:
        scan->has_loss = true;
        break;
    case LAYOUT_IS_LOCK:
        scan->has_lock = true;
        break;
    case LAYOUT_IS_TMP:
        scan->has_tmp = true;
        break;
    case LAYOUT_IS_MANIFEST:
        marks->manifest = true;
        break;
    case LAYOUT_OTHER:
        break;
    }
    return GPUFL_OK;
}

/* One that cannot be read just now must not turn the session into one of another layout.
 */
static gpufl_status read_manifest(const struct sys *sys, int dir, const char *id,
                                  struct scan *scan)
{
    char *text;
    size_t len;
    gpufl_status status =
        file_read(sys, dir, LAYOUT_MANIFEST, IDENTITY_MAX_BYTES, &text, &len);
    if (status == GPUFL_OK) {
        scan->has_manifest = manifest_parse(text, len, id, &scan->manifest) == GPUFL_OK;
        free(text);
    }
    return status == GPUFL_ERR_IO || status == GPUFL_ERR_NOMEM ? GPUFL_ERR_IO : GPUFL_OK;
}

/* A lock file alone proves nothing: other tools plant one in v1.1 directories. */
static enum session_layout judge(const struct scan *scan, bool sidecar)
{
    if (scan->has_manifest) {
        return SESSION_LIVE;
    }
    if (scan->has_tmp || sidecar) {
        return SESSION_WINDOWS;
    }
    return SESSION_SHIFTING;
}

static DIR *open_dir(const struct sys *sys, int root, const char *path)
{
    int fd = sys->open_beneath(root, path, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0) {
        return NULL;
    }
    DIR *dir = fdopendir(fd);
    if (!dir) {
        close(fd);
    }
    return dir;
}

/* A listing that breaks off is no listing: what it did not name would count as gone. */
static struct dirent *next_entry(DIR *dir, gpufl_status *status)
{
    errno = 0;
    struct dirent *entry = readdir(dir);
    if (!entry && errno) {
        *status = GPUFL_ERR_IO;
    }
    return entry;
}

gpufl_status scan_session(const struct sys *sys, int root, const char *path,
                          const char *id, struct scan *out)
{
    struct marks marks = {0};
    memset(out, 0, sizeof *out);
    DIR *dir = open_dir(sys, root, path);
    if (!dir) {
        return errno == ENOENT || errno == ENOTDIR ? GPUFL_ERR_NOT_FOUND : GPUFL_ERR_IO;
    }
    gpufl_status status = GPUFL_OK;
    for (struct dirent *entry;
         status == GPUFL_OK && (entry = next_entry(dir, &status));) {
        status = note_name(out, dirfd(dir), entry->d_name, &marks);
    }
    if (status == GPUFL_OK && marks.manifest) {
        status = read_manifest(sys, dirfd(dir), id, out);
    }
    closedir(dir);
    if (status != GPUFL_OK) {
        return status;
    }
    out->layout = judge(out, marks.sidecar);
    return out->channels || out->has_tmp ? GPUFL_OK : GPUFL_ERR_NOT_FOUND;
}

gpufl_status scan_subdirs(const struct sys *sys, int root, const char *path,
                          void (*visit)(void *arg, const char *name), void *arg)
{
    DIR *dir = open_dir(sys, root, path);
    if (!dir) {
        return GPUFL_ERR_IO;
    }
    gpufl_status status = GPUFL_OK;
    for (struct dirent *entry; (entry = next_entry(dir, &status));) {
        bool maybe_dir = entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;
        if (maybe_dir && layout_name_ok(entry->d_name)) {
            visit(arg, entry->d_name);
        }
    }
    closedir(dir);
    return status;
}
