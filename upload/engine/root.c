/* SPDX-License-Identifier: Apache-2.0 */
/* Takes over a root: its lock, its journal, its sessions. */
#include "upload/engine/root.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "upload/core/claims.h"
#include "upload/core/kept.h"
#include "upload/core/offer.h"
#include "upload/core/position.h"
#include "upload/core/ranges.h"
#include "upload/core/room.h"
#include "upload/core/session_streams.h"
#include "upload/core/strays.h"
#include "upload/core/stream_numbers.h"
#include "upload/engine/claim_search.h"
#include "upload/engine/origin_change.h"
#include "upload/engine/progress_follow.h"
#include "upload/engine/replay.h"
#include "upload/journal/journal_read.h"
#include "upload/journal/journal_try.h"
#include "upload/journal/state_dir.h"
#include "upload/lifecycle/claim.h"
#include "upload/lifecycle/inspect.h"
#include "upload/lifecycle/other_root.h"
#include "upload/lifecycle/parking.h"
#include "upload/published/progress_file.h"
#include "upload/published/run_dir.h"
#include "upload/resolve/resolve_request.h"
#include "upload/source/lock_holder.h"

static bool root_is_served_here(const struct engine *engine, int dir)
{
    struct stat wanted;
    struct stat st;
    bool here = false;
    for (unsigned i = 0; !here && fstat(dir, &wanted) == 0 && i < engine->roots; i++) {
        here = fstat(engine->root[i]->fd, &st) == 0 && st.st_dev == wanted.st_dev &&
               st.st_ino == wanted.st_ino;
    }
    return here;
}

static gpufl_status root_say_busy(const struct root *root, int dir, const char *which,
                                  char why[512])
{
    const struct engine_config *config = &root->engine->config;
    if (root_is_served_here(root->engine, dir)) {
        snprintf(why, 512,
                 "%s%.200s is served, too, with the sessions in its directories: only "
                 "one uploader may serve a directory (leave one of the two out)",
                 which, root->path);
        return GPUFL_BUSY;
    }
    char holder[128];
    char way_out[96] = "";
    uid_t user;
    bool told = progress_holder(config->sys, dir, holder, sizeof holder);
    int pid = !told && config->force_name ? lock_holder_uploader(dir, &user) : 0;
    if (pid) {
        snprintf(holder, sizeof holder, "process %d of user %u", pid, user);
    }
    if (pid && lock_holder_is_foreign(dir, LOCK_SEEN_BY_USER)) {
        snprintf(way_out, sizeof way_out, " (stop it, or use %s: then both send)",
                 config->force_name);
    }
    snprintf(
        why, 512,
        "%s%.200s is already served by %s: only one uploader may serve a directory%s",
        which, root->path, holder, way_out);
    return GPUFL_BUSY;
}

/* What another user's journal says is sent would be sent again. Only the owner of the
 * root can have put one there that counts. */
static gpufl_status root_check_journal(const struct root *root, char why[512])
{
    const char *force = root->engine->config.force_name;
    char or_else[128];
    if (!force) {
        return GPUFL_OK;
    }
    snprintf(or_else, sizeof or_else, ", or with %s, which sends everything again",
             force);
    return journal_read_is_of_another(root->fd, root->path, or_else, why) ? GPUFL_ERR_IO
                                                                          : GPUFL_OK;
}

/* An uploader of the parent directory would send our sessions as those of a group. Each
 * locks its own directory first and then checks the other's, so the two never both go on.
 */
static gpufl_status root_lock(struct root *root, char why[512])
{
    gpufl_status status = GPUFL_OK;
    bool locked = flock(root->fd, LOCK_EX | LOCK_NB) == 0;
    if (!locked && errno == EWOULDBLOCK) {
        if (other_root_lock_counts(root->engine, root->fd)) {
            return root_say_busy(root, root->fd, "", why);
        }
        root->unlocked = true;
    } else if (!locked) {
        snprintf(why, 512, "cannot lock %.300s: %s", root->path, strerror(errno));
        return GPUFL_ERR_IO;
    }
    if (locked && run_dir_is_served(root->fd)) { /* it could not take the lock */
        return root_say_busy(root, root->fd, "", why);
    }
    int parent = openat(root->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (parent >= 0 && strcmp(root->path, "/") != 0 &&
        other_root_serves(root->engine, parent)) {
        status = root_say_busy(root, parent, "the directory above ", why);
    }
    if (parent >= 0) {
        close(parent);
    }
    return status;
}

void root_lock_again(struct root *root)
{
    if (root->unlocked && flock(root->fd, LOCK_EX | LOCK_NB) == 0) {
        root->unlocked = false;
        log_info(root->engine->config.log, "root.unlocked", "root=%s", root->path);
    }
}

/* Others can lock the root, but nothing in the state directory. It is what keeps out a
 * second uploader while another user holds the lock on the root. */
static gpufl_status root_lock_state(struct root *root, const char *journal, char why[512])
{
    root->lock_fd = journal_lock_open(root->state_fd, journal, root->path, true, why);
    if (root->lock_fd < 0) {
        return GPUFL_ERR_IO;
    }
    return flock(root->lock_fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK
               ? root_say_busy(root, root->fd, "", why)
               : GPUFL_OK;
}

static gpufl_status root_open_journal(struct root *root, char why[512])
{
    struct engine *engine = root->engine;
    const char *wanted = engine->config.state_dir;
    struct state_place place = {.fd = -1, .name = "memory"};
    char reason[512];
    gpufl_status status = GPUFL_OK;
    if (!engine->config.memory_state) {
        status = state_dir_open(wanted, root->fd, root->path, STATE_MAKE, &place, reason);
        root->state_fd = place.fd;
    }
    if (status != GPUFL_OK) {
        const char *option = engine->config.state_dir_name;
        bool named = wanted && *wanted && option;
        if (option && !named) {
            state_dir_way_out(option, reason);
        }
        snprintf(why, 512, "%s%s%.470s", named ? option : "", named ? ": " : "", reason);
        return status;
    }
    memcpy(root->journal_name, place.name, sizeof place.name);
    if (!engine->config.memory_state) {
        status = root_lock_state(root, place.name, why);
    }
    if (status != GPUFL_OK) {
        return status;
    }
    root->journal_inside = strcmp(place.name, STATE_NAME_INSIDE) == 0;
    struct journal_config config = {.sys = engine->config.sys,
                                    .syncer = engine->config.syncer,
                                    .log = engine->config.log,
                                    .dir = root->state_fd,
                                    .name = place.name,
                                    .root = root->path,
                                    .rewrite_bytes = engine->config.journal_bytes,
                                    .state = replay_write_state,
                                    .arg = root};
    errno = 0;
    status = journal_open(&config, replay_record, root, &root->journal);
    if (status == GPUFL_OK) {
        progress_follow_begin(root, journal_is_new(root->journal) ||
                                        journal_was_damaged(root->journal));
        ranges_unlist_unsettled(root);
        for (struct session *s = root->sessions; s; s = s->next) {
            room_charge(s);
        }
        claim_replayed(root);
        status = journal_rewrite(root->journal);
    }
    if (status != GPUFL_OK) {
        journal_say_fault(place.path, status, errno, why);
    }
    return status;
}

/* Without descriptors and a journal. */
static struct root *root_make(struct engine *engine, const char *path,
                              const struct engine_channels *channels)
{
    struct root *root = calloc(1, sizeof *root);
    if (!root) {
        return NULL;
    }
    root->given = strdup(path);
    if (!root->given) {
        free(root);
        return NULL;
    }
    uint32_t seed;
    engine->config.sys->random(&seed, sizeof seed);
    root->by_path.seed = root->by_id.seed = root->kept.seed = seed;
    root->parked.table.seed = root->parked.held_ids.seed = seed;
    root->engine = engine;
    root->parked.shares = &engine->shares;
    root->parked.shown = engine->config.run_dir != NULL;
    root->index = engine->roots;
    root->channels = *channels;
    memcpy(root->channel_name, channels->name, sizeof root->channel_name);
    root->channel_names = channels->count;
    root->fd = -1;
    root->state_fd = -1;
    root->lock_fd = -1;
    return root;
}

struct root *root_vacant(const struct root *root)
{
    struct root *vacant = root_make(root->engine, root->given, &root->channels);
    if (!vacant) {
        return NULL;
    }
    struct journal_config config = {.sys = root->engine->config.sys,
                                    .syncer = root->engine->config.syncer,
                                    .dir = -1,
                                    .name = "memory",
                                    .root = root->path,
                                    .state = replay_write_state,
                                    .arg = vacant};
    vacant->path = strdup(root->path);
    vacant->away = true;
    vacant->visited = true; /* there is nothing to watch */
    vacant->index = root->index;
    if (!vacant->path ||
        journal_open(&config, replay_record, NULL, &vacant->journal) != GPUFL_OK ||
        journal_rewrite(vacant->journal) != GPUFL_OK) {
        root_close(vacant);
        return NULL;
    }
    return vacant;
}

/* For programs of other users, which can read nothing of ours below the root. */
static void root_publish(struct root *root)
{
    const struct engine_config *config = &root->engine->config;
    if (!config->run_dir) {
        return;
    }
    root->published = run_dir_publish(config->sys, config->run_dir, root->fd);
    if (!root->published) {
        log_warn(config->log, "publish.off",
                 "root=%s dir=%s reason=\"%s\" note=\"gpufl_upload_logs() of other users "
                 "does not see that this directory is served\"",
                 root->path, config->run_dir, strerror(errno));
    }
}

/* Once it is open: who waits for another uploader tries that again and again. */
static void root_say_locked(const struct root *root)
{
    if (root->unlocked) {
        log_warn(root->engine->config.log, "root.locked",
                 "root=%s note=\"a process of another user holds a lock on it; fuser "
                 "shows which. If that is an uploader, both send\"",
                 root->path);
    }
}

gpufl_status root_open(struct engine *engine, const char *path,
                       const struct engine_channels *channels, struct root **out,
                       char why[512])
{
    *out = NULL;
    struct root *root = root_make(engine, path, channels);
    if (!root) {
        snprintf(why, 512, "out of memory");
        return GPUFL_ERR_NOMEM;
    }
    root->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    root->path = root->fd >= 0 ? realpath(path, NULL) : NULL;
    gpufl_status status = GPUFL_OK;
    if (!root->path) {
        snprintf(why, 512, "%.300s: %s (expected a directory that can be read)", path,
                 strerror(errno));
        status = errno == ENOENT ? GPUFL_ERR_NOT_FOUND : GPUFL_ERR_IO;
    }
    if (status == GPUFL_OK) {
        status = root_lock(root, why);
    }
    if (status == GPUFL_OK) {
        status = root_check_journal(root, why);
    }
    if (status == GPUFL_OK) {
        status = root_open_journal(root, why);
    }
    if (status == GPUFL_OK) {
        status = origin_change_open(root, why);
    }
    if (status != GPUFL_OK) {
        int reason = errno;
        root_close(root);
        errno = reason;
        return status;
    }
    root_say_locked(root);
    root_publish(root);
    *out = root;
    return GPUFL_OK;
}

void root_close(struct root *root)
{
    claim_search_end(&root->engine->search);
    claims_close(root);
    journal_close(root->journal);
    while (root->sessions) {
        struct session *s = root->sessions;
        for (unsigned i = 0; i < s->streams; i++) {
            if (s->stream[i]->offer) {
                offer_return(root->engine, s->stream[i]->offer);
            }
        }
        inspect_stop(s);
        session_drop(s);
    }
    parked_close(&root->parked);
    listing_delete(root->listing);
    listing_delete(root->group.listing);
    listing_delete(root->brief.listing);
    shares_close(&root->brief.spent);
    kept_clear(root);
    other_root_close(root);
    room_close(root);
    portions_end(&root->portions);
    shares_close(&root->touched);
    run_dir_close(root->published);
    if (root->lock_fd >= 0) {
        flock(root->lock_fd, LOCK_UN); /* as the root, below */
        close(root->lock_fd);
    }
    if (root->state_fd >= 0) {
        close(root->state_fd);
    }
    if (root->fd >= 0) {
        flock(root->fd, LOCK_UN); /* a child forked meanwhile has the descriptor, too */
        close(root->fd);
    }
    path_table_close(&root->by_path);
    path_table_close(&root->by_id);
    strays_clear(root);
    resolve_close(root);
    origin_history_fini(&root->origin);
    ranges_clear(root);
    range_list_close(&root->quarantine);
    stream_numbers_close(root);
    free(root->passed);
    free(root->given);
    free(root->path);
    free(root);
}
