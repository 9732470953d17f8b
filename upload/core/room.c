/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the directories that wait, of each owner, and asks whether one may have more
 * ranges in quarantine. */
#include "upload/core/room.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "upload/core/held.h"
#include "upload/core/kept_bytes.h"
#include "upload/core/session.h"
#include "upload/core/stream.h"
#include "upload/owners/owners.h"

/* An open session of two channels. */
#define ROOM_BYTES (sizeof(struct session) + 2 * sizeof(struct stream))

struct room_wait {
    struct room_wait *next;
    uint32_t owner;
    unsigned found;   /* by the last whole listing */
    unsigned finding; /* by the one under way */
    unsigned said;
};

static struct room_wait *room_wait_of(const struct root *root, uint32_t owner)
{
    struct room_wait *wait = root->waits;
    while (wait && wait->owner != owner) {
        wait = wait->next;
    }
    return wait;
}

static bool room_has(const struct root *root, uint32_t owner, uint64_t path_bytes)
{
    return shares_have_room(&root->engine->shares, owner, ROOM_BYTES + path_bytes);
}

static void room_count(struct root *root, const struct room_asked *asked)
{
    struct room_wait *wait = room_wait_of(root, asked->owner);
    if (!wait && (wait = calloc(1, sizeof *wait))) {
        wait->owner = asked->owner;
        wait->next = root->waits;
        root->waits = wait;
    }
    if (wait && asked->counts) {
        wait->finding++;
    } else if (wait && !wait->found) {
        wait->found = 1;
    }
}

/* Who lets others list a directory, and not look at what is in it, answers for that. */
static uint32_t room_owner_at(const struct root *root, const char *path, int above,
                              bool *there)
{
    struct stat st;
    bool seen = fstatat(root->fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
    *there = seen || (errno != ENOENT && errno != ENOTDIR);
    seen = seen || fstat(above, &st) == 0;
    return seen ? owners_account(&root->engine->owners, st.st_uid) : geteuid();
}

uint32_t room_owner_of(const struct session *session)
{
    bool there;
    return session->charged_to != SHARES_NOBODY ? session->charged_to
           : session->directory.user
               ? owners_account(&session->root->engine->owners,
                                session->directory.user - 1)
               : room_owner_at(session->root, session->path, session->root->fd, &there);
}

uint64_t room_sessions_beside(const struct session *session)
{
    return shares_of(&session->root->engine->shares, room_owner_of(session)) / ROOM_BYTES;
}

void room_charge(struct session *session)
{
    session_charge(session, room_owner_of(session), session->charged_bytes);
}

/* It may be a directory of sessions that belong to others: the caller looks below it. */
bool room_for(struct root *root, struct room_asked *asked)
{
    const struct engine_config *config = &root->engine->config;
    bool there;
    asked->owner = room_owner_at(root, asked->path, asked->above, &there);
    if (room_has(root, asked->owner, kept_bytes_of_path(asked->path))) {
        return true;
    }
    root->only_sessions = false; /* so that the root is listed again */
    if (there && (!config->wanted || config->wanted(config->wanted_arg, asked->id))) {
        room_count(root, asked);
    }
    return false;
}

uint32_t room_account_at(const struct root *root, const char *path, int above)
{
    bool there;
    return room_owner_at(root, path, above, &there);
}

void room_next_round(struct root *root)
{
    for (struct room_wait *wait = root->waits; wait; wait = wait->next) {
        if (!portions_served(&root->portions, wait->owner)) {
            wait->finding = 0;
        }
    }
}

/* Once, and again when there are twice as many. */
static void room_say(const struct root *root, struct room_wait *wait)
{
    const struct engine *engine = root->engine;
    if (wait->found / 2 < wait->said) {
        return;
    }
    wait->said = wait->found;
    uint32_t about = log_about(engine->config.log, wait->owner);
    log_warn(engine->config.log, "owner.waits",
             "root=%s owner=%" PRIu32 " directories=%u kept_bytes=%" PRIu64
             " limit_bytes=%" PRIu64 " note=\"this user has more directories here than "
             "there is room for: these are not sent until others of the same user are "
             "sent or removed; others are not affected\"",
             root->path, wait->owner, wait->found,
             shares_of(&engine->shares, wait->owner), engine->shares.limit);
    log_about(engine->config.log, about);
}

static void room_say_fits(const struct root *root, const struct room_wait *wait)
{
    const struct log *log = root->engine->config.log;
    if (wait->said) {
        uint32_t about = log_about(log, wait->owner);
        log_info(log, "owner.fits", "root=%s owner=%" PRIu32, root->path, wait->owner);
        log_about(log, about);
    }
}

void room_listed(struct root *root, bool whole)
{
    for (struct room_wait **link = &root->waits; *link;) {
        struct room_wait *wait = *link;
        bool more = wait->finding > wait->found;
        unsigned before = wait->found;
        wait->found = whole || more ? wait->finding : wait->found;
        wait->finding = 0;
        root->engine->trouble.stamp += wait->found != before;
        if (wait->found) {
            room_say(root, wait);
            link = &wait->next;
        } else {
            room_say_fits(root, wait);
            *link = wait->next;
            free(wait);
        }
    }
}

bool room_lacks(const struct root *root, uint32_t owner)
{
    return room_wait_of(root, owner) != NULL;
}

bool room_for_one(const struct root *root, uint32_t owner)
{
    return room_has(root, owner, JOURNAL_PATH_MAX);
}

bool room_goes_on_for(const struct root *root, uint32_t owner)
{
    return room_lacks(root, owner) && room_for_one(root, owner);
}

bool room_goes_on(const struct root *root)
{
    const struct room_wait *wait = root->waits;
    while (wait && !room_has(root, wait->owner, JOURNAL_PATH_MAX)) {
        wait = wait->next;
    }
    return wait != NULL;
}

void room_each(const struct root *root,
               void (*visit)(void *arg, uint32_t owner, unsigned count), void *arg)
{
    for (const struct room_wait *w = root->waits; w; w = w->next) {
        visit(arg, w->owner, w->finding > w->found ? w->finding : w->found);
    }
}

static bool room_has_for_range(const struct session *session)
{
    return shares_have_room(&session->root->engine->ranges, room_owner_of(session), 1);
}

bool room_for_range(struct stream *st)
{
    bool fits = room_has_for_range(st->session);
    if (!fits) {
        stream_hold(st, HELD_QUARANTINE_FULL);
        st->session->root->engine->ranges_wait = true;
    }
    return fits;
}

static bool room_holds_range(const struct session *session)
{
    bool hold = false;
    for (unsigned i = 0; i < session->streams; i++) {
        const struct stream *st = session->stream[i];
        hold = hold || (st->held && st->hold_reason == HELD_QUARANTINE_FULL);
    }
    return hold;
}

void room_ranges_go_on(struct engine *engine)
{
    bool any = false;
    bool look = engine->ranges_left && engine->ranges_wait;
    for (unsigned i = 0; look && i < engine->roots; i++) {
        for (struct session *s = engine->root[i]->sessions; s; s = s->next) {
            bool waits = room_holds_range(s);
            any = any || waits;
            if (waits && room_has_for_range(s)) {
                session_mark(s);
            }
        }
    }
    engine->ranges_wait = look ? any : engine->ranges_wait;
    engine->ranges_left = false;
}

void room_close(struct root *root)
{
    while (root->waits) {
        struct room_wait *wait = root->waits;
        root->waits = wait->next;
        free(wait);
    }
}
