/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a directory once, as its path may lead to another one at the next look, and asks
 * whose it is, whether its writer lives, and what is in it. */
#include "upload/lifecycle/inspect_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* \p dir: the root and the path of a session below it, or its directory and ".". */
static enum liveness inspect_probe_writer(const struct root *root, int dir,
                                          const char *path, const struct scan *scan)
{
    char lock[JOURNAL_PATH_MAX + LAYOUT_PATH_MAX];
    snprintf(lock, sizeof lock, "%s/%s", path, LAYOUT_LOCK);
    bool here = root->engine->config.in_job && liveness_is_open_here(dir, lock);
    return here ? WRITER_LIVE
                : liveness_probe(root->engine->config.sys, dir, lock,
                                 scan ? &scan->manifest : NULL,
                                 scan ? scan->last_write_s : 0);
}

bool inspect_is_over(const struct root *root, const char *path)
{
    return inspect_probe_writer(root, root->fd, path, NULL) == WRITER_GONE;
}

bool inspect_is_locked(const struct root *root, const char *path)
{
    return inspect_probe_writer(root, root->fd, path, NULL) == WRITER_LIVE;
}

static bool inspect_owner_ok(const struct root *root, struct inspection *seen)
{
    const struct engine_config *config = &root->engine->config;
    const struct statx *st = &seen->directory;
    seen->changed =
        (uint64_t)st->stx_ctime.tv_sec * 1000000000u + (uint64_t)st->stx_ctime.tv_nsec;
    seen->owner = SESSION_OWNER_UNKNOWN;
    if (!seen->whole && !config->one_owner) {
        return true;
    }
    seen->owner = st->stx_uid;
    return !config->one_owner || st->stx_uid == config->owner;
}

/* Nobody else may list it, but everybody may know whose it is. */
static gpufl_status inspect_unopened(const struct root *root, const char *path, int error)
{
    const struct engine_config *config = &root->engine->config;
    struct stat st;
    bool foreign = config->one_owner &&
                   fstatat(root->fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                   st.st_uid != config->owner;
    return error == ENOENT || error == ENOTDIR ? GPUFL_ERR_NOT_FOUND
           : foreign                           ? GPUFL_ERR_USAGE
                                               : GPUFL_ERR_IO;
}

static void inspect_clear(struct inspection *out)
{
    memset(&out->directory, 0, sizeof out->directory);
    memset(out->second, 0, sizeof out->second);
    out->owner = SESSION_OWNER_UNKNOWN;
    out->changed = 0;
    out->names = 0;
    out->whole = true;
    out->shows_session = false;
}

gpufl_status inspect_begin(const struct root *root, const char *path,
                           const struct session *live, struct inspect_look *look)
{
    struct inspection *seen = &look->seen;
    gpufl_status status = GPUFL_ERR_IO;
    look->second = (struct scan_second){0};
    look->scanned = false;
    look->compared = 0;
    look->dir =
        root->engine->config.sys->open_beneath(root->fd, path, O_RDONLY | O_DIRECTORY, 0);
    inspect_clear(seen);
    if (live) {
        memcpy(seen->second, live->second, sizeof seen->second);
    }
    if (look->dir < 0) {
        return inspect_unopened(root, path, errno);
    }
    if (directory_see(look->dir, &seen->directory)) {
        seen->whole = !live || directory_compare_seen(&seen->directory,
                                                      &live->directory) != DIRECTORY_SAME;
        status = inspect_owner_ok(root, seen) ? GPUFL_OK : GPUFL_ERR_USAGE;
    }
    if (status != GPUFL_OK) {
        inspect_close(look);
        return status;
    }
    seen->writer = inspect_probe_writer(root, look->dir, ".", NULL);
    scan_begin(&look->scanning, look->dir);
    return GPUFL_OK;
}

static gpufl_status inspect_scanned(const struct root *root, const char *id,
                                    struct inspect_look *look)
{
    struct inspection *seen = &look->seen;
    bool again = !seen->whole && seen->writer == WRITER_LIVE;
    gpufl_status status = scan_end(&look->scanning, root->engine->config.sys,
                                   again ? NULL : id, &seen->scan);
    if (status == GPUFL_OK && seen->writer != WRITER_LIVE &&
        seen->scan.manifest_state == SCAN_MANIFEST_VALID) {
        seen->writer = inspect_probe_writer(root, look->dir, ".", &seen->scan);
    }
    return status;
}

/* \return true at the end. */
static bool inspect_second(const struct root *root, struct inspect_look *look,
                           int64_t budget)
{
    struct inspection *seen = &look->seen;
    const struct scan_second_of of = {.sys = root->engine->config.sys,
                                      .dir = look->dir,
                                      .scan = &seen->scan,
                                      .lives = seen->writer == WRITER_LIVE,
                                      .known = seen->second};
    int64_t left = budget;
    bool over = scan_second_some(&look->second, &of, &left);
    look->compared += (uint64_t)(budget - left);
    return over;
}

gpufl_status inspect_end(const struct root *root, const char *id,
                         struct inspect_look *look, int64_t budget)
{
    struct inspection *seen = &look->seen;
    gpufl_status status = look->scanned ? GPUFL_OK : inspect_scanned(root, id, look);
    look->scanned = true;
    bool over = status != GPUFL_OK || inspect_second(root, look, budget);
    seen->names = inspect_cost(look);
    if (!over) {
        return GPUFL_BUSY;
    }
    if (status == GPUFL_OK && seen->scan.layout == SESSION_SHIFTING) {
        seen->writer =
            WRITER_UNKNOWN; /* its writer takes no lock, and others could plant one */
    }
    inspect_close(look);
    return status;
}

unsigned inspect_cost(const struct inspect_look *look)
{
    return look->scanning.names +
           (unsigned)(look->compared / (SECOND_FORM_STEP_BYTES / VISITS_STEP_NAMES));
}

void inspect_close(struct inspect_look *look)
{
    second_form_stop(look->second.search);
    close(look->dir);
}

gpufl_status inspect_directory(const struct root *root, const char *path,
                               const struct session *live, unsigned most,
                               struct inspection *out)
{
    const char *slash = strrchr(path, '/');
    int64_t budget = most < UINT_MAX ? SECOND_FORM_STEP_BYTES : INT64_MAX;
    struct inspect_look look;
    gpufl_status status = inspect_begin(root, path, live, &look);
    if (status == GPUFL_OK) {
        bool all = scan_some(&look.scanning, most < UINT_MAX ? most + 1 : most);
        status =
            all ? inspect_end(root, slash ? slash + 1 : path, &look, budget) : GPUFL_BUSY;
        if (status == GPUFL_BUSY) {
            inspect_close(&look);
        }
        look.seen.names = inspect_cost(&look);
        look.seen.shows_session = scan_shows_session(&look.scanning);
    }
    *out = look.seen;
    return status;
}
