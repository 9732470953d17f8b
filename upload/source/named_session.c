/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the first sidecar or line that names a session. */
#include "upload/source/named_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "schema/record_field.h"
#include "upload/source/gz_cache.h"
#include "upload/source/listing.h"

#define NAMED_HEAD_BYTES 4096u
#define NAMED_PATH_BYTES (2 * (LAYOUT_NAME_MAX + 1) + LAYOUT_PATH_MAX + 8)
#define NAMED_TMP_MAX    64u /* names in `.tmp` that are looked at */

struct named_dir {
    const struct sys *sys;
    int root;
    const char *path;
};

static bool named_by_sidecar(const struct named_dir *dir, const struct scan_channel *c,
                             char id[LAYOUT_NAME_MAX + 1])
{
    char name[LAYOUT_PATH_MAX];
    char path[NAMED_PATH_BYTES];
    char *text;
    size_t len;
    uint32_t number = c->lowest ? c->lowest : c->highest; /* its payload may be deleted */
    layout_sidecar(name, c->name, number);
    snprintf(path, sizeof path, "%s/%s", dir->path, name);
    if (!number || file_read(dir->sys, dir->root, path, IDENTITY_MAX_BYTES, &text,
                             &len) != GPUFL_OK) {
        return false;
    }
    bool named = sidecar_names(text, len, c->name, number, id);
    free(text);
    return named;
}

/* Of a line that may be cut. */
static bool named_in_line(const char *line, size_t len, char id[LAYOUT_NAME_MAX + 1])
{
    const char *end = memchr(line, '\n', len);
    struct record_text text;
    if (!record_field_text(line, end ? (size_t)(end - line) : len, "session_id", &text) ||
        text.len > LAYOUT_NAME_MAX) {
        return false;
    }
    memcpy(id, text.at, text.len);
    id[text.len] = '\0';
    return layout_name_ok(id);
}

static bool named_in_file(const struct named_dir *dir, const char *name,
                          char id[LAYOUT_NAME_MAX + 1])
{
    char path[NAMED_PATH_BYTES];
    char head[NAMED_HEAD_BYTES];
    struct gz_cache once = {0};
    size_t len = 0;
    snprintf(path, sizeof path, "%s/%s", dir->path, name);
    int fd = file_open(dir->sys, dir->root, path);
    if (fd < 0) {
        return false;
    }
    gpufl_status status = gz_cache_read(&once, fd, 0, head, sizeof head, &len);
    gz_cache_close(&once);
    close(fd);
    return status == GPUFL_OK && named_in_line(head, len, id);
}

static bool named_by_line(const struct named_dir *dir, const struct scan_channel *c,
                          char id[LAYOUT_NAME_MAX + 1])
{
    bool named = false;
    for (int gz = 0; gz < 2 && !named; gz++) {
        char name[LAYOUT_PATH_MAX];
        if (c->highest_shifting) {
            layout_numbered(name, c->name, c->highest_shifting, gz);
        } else {
            layout_active(name, c->name, gz);
        }
        named = named_in_file(dir, name, id);
    }
    return named;
}

/* What a dead writer has not published yet: a salvage would make sidecars by the name of
 * the directory. */
static bool named_by_unpublished(const struct named_dir *dir,
                                 char id[LAYOUT_NAME_MAX + 1])
{
    char path[NAMED_PATH_BYTES];
    char file[NAMED_PATH_BYTES];
    struct listing listing;
    const struct dirent64 *entry;
    bool named = false;
    snprintf(path, sizeof path, "%s/" LAYOUT_TMP_DIR, dir->path);
    if (listing_open(&listing, dir->sys, dir->root, path) != GPUFL_OK) {
        return false;
    }
    for (unsigned i = 0; !named && i < NAMED_TMP_MAX && (entry = listing_next(&listing));
         i++) {
        struct layout_name name = layout_parse(entry->d_name);
        bool payload = name.kind == LAYOUT_ACTIVE || name.kind == LAYOUT_NUMBERED;
        snprintf(file, sizeof file, LAYOUT_TMP_DIR "/%.*s", LAYOUT_PATH_MAX,
                 entry->d_name);
        named = payload && channel_is_known(name.channel) && named_in_file(dir, file, id);
    }
    listing_close(&listing);
    return named;
}

bool named_session(const struct sys *sys, int root, const char *path,
                   const struct scan *scan, char id[LAYOUT_NAME_MAX + 1])
{
    const struct named_dir dir = {sys, root, path};
    bool named = false;
    for (unsigned i = 0; i < scan->channels && !named; i++) {
        const struct scan_channel *c = &scan->channel[i];
        named = scan->layout == SESSION_WINDOWS    ? named_by_sidecar(&dir, c, id)
                : scan->layout == SESSION_SHIFTING ? named_by_line(&dir, c, id)
                                                   : false;
    }
    return named || (scan->has_tmp && scan->layout == SESSION_WINDOWS &&
                     named_by_unpublished(&dir, id));
}
