/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the disk about a directory that claims a session id. */
#include "upload/core/claimant.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/session_id.h"
#include "upload/source/identity.h"
#include "upload/source/liveness.h"

void claimant_ask_disk(struct claimant *c)
{
    struct stat st;
    c->there = fstatat(c->root->fd, c->path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
               S_ISDIR(st.st_mode);
    c->owner = c->there ? st.st_uid : 0;
}

bool claimant_is_locked(const struct claimant *c)
{
    const struct engine_config *config = &c->root->engine->config;
    char lock[JOURNAL_PATH_MAX + LAYOUT_PATH_MAX];
    snprintf(lock, sizeof lock, "%s/%s", c->path, LAYOUT_LOCK);
    return !c->complete && !config->in_job &&
           liveness_probe(config->sys, c->root->fd, lock, NULL, 0) == WRITER_LIVE;
}

bool claimant_is_bound(const struct claimant *c)
{
    const struct sys *sys = c->root->engine->config.sys;
    const char *slash = strrchr(c->path, '/');
    const char *id = slash ? slash + 1 : c->path;
    char file[JOURNAL_PATH_MAX + LAYOUT_PATH_MAX];
    char bound[UUID_TEXT] = "";
    struct manifest manifest;
    char *text;
    size_t len;
    snprintf(file, sizeof file, "%s/%s", c->path, LAYOUT_MANIFEST);
    if (!c->there || c->owner == SESSION_OWNER_UNKNOWN ||
        file_read(sys, c->root->fd, file, IDENTITY_MAX_BYTES, &text, &len) != GPUFL_OK) {
        return false;
    }
    if (manifest_parse(text, len, id, &manifest) == GPUFL_OK && manifest.id_nonce[0]) {
        session_id_of(c->owner, manifest.id_nonce, bound);
    }
    free(text);
    return strcmp(bound, id) == 0;
}
