/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the disk about a directory that claims a session id. */
#include "upload/core/claimant.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/session_id.h"
#include "upload/owners/owners.h"
#include "upload/source/identity.h"
#include "upload/source/liveness.h"

void claimant_ask_disk(struct claimant *c)
{
    struct stat st;
    c->there = fstatat(c->root->fd, c->path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
               S_ISDIR(st.st_mode);
    c->owner = c->there ? st.st_uid : 0;
}

bool claimant_owner_differs(const struct claimant *a, const struct claimant *b)
{
    return a->owner != b->owner || a->owner == SESSION_OWNER_UNKNOWN;
}

bool claimant_is_own(const struct claimant *c)
{
    uid_t self = geteuid();
    return !c->root->engine->config.service && self != 0 && c->there && c->owner == self;
}

bool claimant_owner_is_served(const struct claimant *c)
{
    const struct engine *engine = c->root->engine;
    uint32_t account = owners_account(&engine->owners, c->owner);
    bool served = true;
    for (unsigned i = 0; i < engine->roots && served; i++) {
        const struct root *root = engine->root[i];
        served = root->listed || root->away || portions_served(&root->portions, account);
    }
    return served;
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

static bool claimant_proves(const struct session *session)
{
    const struct claimant c = {.root = session->root,
                               .path = session->path,
                               .there = true,
                               .owner = session->seen.user - 1};
    return session->seen.user && claimant_is_bound(&c);
}

uint32_t claimant_proved_user(const struct session *session)
{
    return claimant_proves(session) ? session->seen.user : 0;
}

bool claimant_may_continue(const struct session *session, uint32_t of)
{
    return !of || session->seen.user == of || claimant_proves(session);
}
