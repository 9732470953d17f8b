/* SPDX-License-Identifier: Apache-2.0 */
/* Inspects a session directory. Its contents are not trusted: names are classified, types
 * are checked, links are not followed. */
#include "upload/source/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static struct scan_channel *scan_channel_of(struct scan *scan, const char *name)
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
        /* Gone since it was listed: the next scan will tell. */
        return errno == ENOENT ? GPUFL_OK : GPUFL_ERR_IO;
    }
    struct scan_channel *channel = S_ISREG(st.st_mode) && st.st_nlink <= 1
                                       ? scan_channel_of(scan, name->channel)
                                       : NULL;
    if (!channel) {
        scan->refused++;
        return GPUFL_OK;
    }
    if (st.st_mtim.tv_sec > scan->last_write_s) {
        scan->last_write_s = st.st_mtim.tv_sec;
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

static bool is_file(int dir, const char *file)
{
    struct stat st;
    return fstatat(dir, file, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

struct marks {
    bool manifest;
    bool sidecar;
};

static gpufl_status scan_note_name(struct scan *scan, int dir, const char *file,
                                   struct marks *marks)
{
    struct layout_name name = layout_parse(file);
    switch (name.kind) {
    case LAYOUT_ACTIVE:
    case LAYOUT_NUMBERED:
        return note_payload(scan, dir, file, &name);
    case LAYOUT_SIDECAR: {
        struct scan_channel *channel = scan_channel_of(scan, name.channel);
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
    case LAYOUT_IS_UPLOADED:
        scan->has_uploaded = is_file(dir, file);
        break;
    case LAYOUT_IS_MANIFEST:
        marks->manifest = true;
        break;
    case LAYOUT_OTHER:
        break;
    }
    return GPUFL_OK;
}

/* A manifest that cannot be read just now must not change the session's layout. */
static gpufl_status read_manifest(const struct sys *sys, int dir, const char *id,
                                  struct scan *scan)
{
    char *text;
    size_t len;
    gpufl_status status =
        file_read(sys, dir, LAYOUT_MANIFEST, IDENTITY_MAX_BYTES, &text, &len);
    scan->has_manifest = false;
    if (status == GPUFL_OK) {
        scan->has_manifest = manifest_parse(text, len, id, &scan->manifest) == GPUFL_OK;
        free(text);
    }
    scan->bad_manifest = !scan->has_manifest && status != GPUFL_ERR_NOT_FOUND;
    return status == GPUFL_ERR_IO || status == GPUFL_ERR_NOMEM ? GPUFL_ERR_IO : GPUFL_OK;
}

/* A lock file alone proves nothing: other tools plant one in v1.1 directories. */
static enum session_layout scan_layout_of(const struct scan *scan, bool sidecar)
{
    if (scan->has_manifest) {
        return SESSION_LIVE;
    }
    if (scan->has_tmp || sidecar) {
        return SESSION_WINDOWS;
    }
    return SESSION_SHIFTING;
}

/* \p id NULL: the manifest is not read. */
static gpufl_status scan_files(const struct sys *sys, int root, const char *path,
                               const char *id, struct scan *out)
{
    struct marks marks = {0};
    struct listing listing;
    memset(out, 0, sizeof *out);
    gpufl_status status = listing_open(&listing, sys, root, path);
    if (status != GPUFL_OK) {
        return status;
    }
    for (const struct dirent64 *entry;
         status == GPUFL_OK && (entry = listing_next(&listing));) {
        status = scan_note_name(out, listing.fd, entry->d_name, &marks);
    }
    out->has_manifest = marks.manifest;
    if (status == GPUFL_OK && !listing.error && marks.manifest && id) {
        status = read_manifest(sys, listing.fd, id, out);
    }
    listing_close(&listing);
    if (status != GPUFL_OK || listing.error) {
        return GPUFL_ERR_IO; /* files that were not listed would count as deleted */
    }
    out->layout = scan_layout_of(out, marks.sidecar);
    return out->channels || out->has_tmp ? GPUFL_OK : GPUFL_ERR_NOT_FOUND;
}

gpufl_status scan_session(const struct sys *sys, int root, const char *path,
                          const char *id, struct scan *out)
{
    return scan_files(sys, root, path, id, out);
}

gpufl_status scan_session_again(const struct sys *sys, int root, const char *path,
                                struct scan *out)
{
    return scan_files(sys, root, path, NULL, out);
}

gpufl_status scan_subdirs(const struct sys *sys, int root, const char *path,
                          void (*visit)(void *arg, const char *name), void *arg)
{
    struct listing listing;
    gpufl_status status = listing_open(&listing, sys, root, path);
    if (status != GPUFL_OK) {
        return status;
    }
    for (const char *name; (name = listing_next_dir(&listing));) {
        visit(arg, name);
    }
    listing_close(&listing);
    errno = listing.error;
    return listing.error ? GPUFL_ERR_IO : GPUFL_OK;
}
