/* SPDX-License-Identifier: Apache-2.0 */
/* Creates, finds and drops sessions, and lists those to be inspected or completed. */
#include "upload/core/session.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "upload/core/kept_bytes.h"
#include "upload/owners/owners.h"
#include "upload/source/identity.h"

#define LATER_MIN_MS 20u

struct session *session_of_turn(struct visits_node *node)
{
    return node
               ? (struct session *)(void *)((char *)node - offsetof(struct session, turn))
               : NULL;
}

struct session *session_find(const struct root *root, const char *path)
{
    return (struct session *)path_table_find(&root->by_path, path); /* its first member */
}

static struct session *session_by_id(const struct path_node *node)
{
    return node ? (struct session *)(void *)((char *)(uintptr_t)node -
                                             offsetof(struct session, by_id))
                : NULL;
}

struct session *session_of_id(const struct root *root, const char *id)
{
    return session_by_id(path_table_find(&root->by_id, id));
}

struct session *session_next_of_id(const struct session *session)
{
    return session_by_id(path_table_next(&session->by_id));
}

/* Adds it at the head of the root's list. */
static void session_link(struct session *session)
{
    struct root *root = session->root;
    session->next = root->sessions;
    session->link = &root->sessions;
    if (session->next) {
        session->next->link = &session->next;
    }
    root->sessions = session;
    root->change_stamp++;
}

struct session *session_make(struct root *root, const char *path)
{
    struct session *s = session_find(root, path);
    size_t len = strlen(path);
    if (s || len >= JOURNAL_PATH_MAX) {
        return s;
    }
    s = calloc(1, sizeof *s + len + 1);
    if (!s) {
        return NULL;
    }
    s->root = root;
    s->owner = SESSION_OWNER_UNKNOWN;
    s->charged_to = s->turn_of = SHARES_NOBODY;
    s->node.path = memcpy(s->path, path, len + 1);
    const char *slash = strrchr(s->path, '/');
    s->id = s->by_id.path = slash ? slash + 1 : s->path;
    if (!path_table_add(&root->by_path, &s->node) ||
        !path_table_add(&root->by_id, &s->by_id)) {
        path_table_remove(&root->by_path, &s->node);
        free(s);
        return NULL;
    }
    root->grouped = root->grouped || slash;
    const struct engine_config *config = &root->engine->config;
    s->wanted = !config->wanted || config->wanted(config->wanted_arg, s->id);
    session_link(s);
    session_charge(s, SHARES_NOBODY, sizeof *s + kept_bytes_of_path(path));
    return s;
}

void session_charge(struct session *session, uint32_t owner, uint64_t bytes)
{
    struct shares *shares = &session->root->engine->shares;
    shares_remove(shares, session->charged_to, session->charged_bytes);
    session->charged_to = owner;
    session->charged_bytes = (uint32_t)bytes;
    shares_add(shares, owner, bytes);
}

void session_begin_turn(struct session *session, uint32_t owner)
{
    session_end_turn(session);
    session->turn_of = owner;
    shares_add(&session->root->engine->in_turn, owner, 1);
}

void session_end_turn(struct session *session)
{
    if (session->turn_of != SHARES_NOBODY) {
        shares_remove(&session->root->engine->in_turn, session->turn_of, 1);
        session->turn_of = SHARES_NOBODY;
    }
}

void session_mark(struct session *session)
{
    struct engine *engine = session->root->engine;
    session->marked_again = session->dirty && session->look;
    if (!session->dirty) {
        session->dirty = true;
        visits_push(&engine->visits, session_lane(session), &session->turn,
                    engine->config.sys->now_ms());
    }
}

/* One inspection finds everything once the flush interval is over. All wait equally long,
 * so the list is in order. */
void session_mark_later(struct session *session, uint64_t now_ms)
{
    struct engine *engine = session->root->engine;
    uint64_t wait_ms = engine->config.flush_interval_ms;
    if (!session->later) {
        session->later = true;
        session->later_at_ms = now_ms + (wait_ms < LATER_MIN_MS ? LATER_MIN_MS : wait_ms);
        session->next_later = NULL;
        *(engine->later ? engine->later_last : &engine->later) = session;
        engine->later_last = &session->next_later;
    }
}

void session_set_state(struct session *session, enum session_state state)
{
    struct engine *engine = session->root->engine;
    session->state = (uint8_t)state;
    if (state == SESSION_COMPLETING) {
        session->complete_ticket = journal_last(session->root->journal);
    }
    if (state == SESSION_COMPLETING && !session->in_completing) {
        session->in_completing = true; /* until it is found in another state */
        session->next_completing = engine->completing;
        engine->completing = session;
        engine->completing_count++;
    }
    if (state == SESSION_DONE) {
        session_end_turn(session);
    }
}

uint32_t session_log_about(const struct session *session)
{
    _Static_assert(LOG_ABOUT_NOBODY == SHARES_NOBODY, "it is not known");
    return log_about(session->root->engine->config.log, session->charged_to);
}

void session_say_hold(struct session *session, const char *channel, const char *reason)
{
    struct engine *engine = session->root->engine;
    uint32_t about = session_log_about(session);
    log_error(engine->config.log, "session.held", "session=%s channel=%s reason=\"%s\"",
              session->id, channel, reason);
    log_about(engine->config.log, about);
    trouble_say(&engine->trouble, "session %s, channel %s waits: %s", session->id,
                channel, reason);
    engine->trouble.stamp++;
}

void session_say_refused(struct session *session, const char *channel, uint64_t had,
                         uint64_t lines)
{
    const struct log *log = session->root->engine->config.log;
    uint32_t about = session_log_about(session);
    if (lines > had) {
        log_error(log, "upload.refused_before",
                  "session=%s channel=%s lines=%" PRIu64
                  " note=\"the backend knows that they were not sent as it had refused "
                  "them; the journal does not have which these are\"",
                  session->id, channel, lines - had);
    }
    log_about(log, about);
}

/* Who else could do something about it cannot even see what it is. */
static void session_say_owner(struct session *session, enum held_reason reason)
{
    uint32_t owner =
        reason == HELD_DIRECTORY ? session_user(session) : SESSION_OWNER_UNKNOWN;
    if (owner != SESSION_OWNER_UNKNOWN && owner != geteuid()) {
        log_info(session->root->engine->config.log, "session.closed",
                 "session=%s owner=%u note=\"its owner can let this user read it, or "
                 "remove it\"",
                 session->id, owner);
    }
}

void session_hold(struct session *session, enum held_reason reason)
{
    enum held_reason last = (enum held_reason)session->hold_reason;
    if (!held_was_said(session->holds_said, last, reason)) {
        session_say_hold(session, "*", held_text(reason));
        session_say_owner(session, reason);
    }
    session->holds_said = held_say(session->holds_said, last, reason);
    session->hold_reason = (uint8_t)reason;
    session->held = true;
}

int session_open_directory(const struct session *session)
{
    const struct root *root = session->root;
    return directory_open(root->engine->config.sys, root->fd, session->path,
                          &session->directory);
}

gpufl_status session_read_file(const struct session *session, const char *name,
                               char **text, size_t *len)
{
    int dir = session_open_directory(session);
    gpufl_status status = dir >= 0 ? file_read(session->root->engine->config.sys, dir,
                                               name, IDENTITY_MAX_BYTES, text, len)
                          : errno == ENOENT ? GPUFL_ERR_NOT_FOUND
                                            : GPUFL_ERR_IO;
    if (dir >= 0) {
        close(dir);
    }
    return status;
}

void session_note_directory(struct session *session)
{
    struct record_directory record = {.id = session->directory};
    if (session->directory_noted || !session->directory.user) {
        return;
    }
    snprintf(record.path, sizeof record.path, "%s", session->path);
    session->directory_noted =
        record_append_directory(session->root->journal, &record) != 0;
}

uint64_t session_changed(const struct stat *st)
{
    return (uint64_t)st->st_ctim.tv_sec * 1000000000u + (uint64_t)st->st_ctim.tv_nsec;
}

struct record_resolved session_resolved(const struct session *session)
{
    struct record_resolved record = {.unread = session->unread_given_up,
                                     .no_manifest = session->no_manifest};
    snprintf(record.path, sizeof record.path, "%s", session->path);
    return record;
}

/* In a user namespace everybody else is one user. There, at least, what anybody can write
 * in a moment does not go before a session whose writer runs. */
uint32_t session_lane(const struct session *session)
{
    bool runs = session->writer == SESSION_WRITER_LIVES;
    return session->owner == SESSION_OWNER_UNKNOWN && !runs
               ? SESSION_OWNER_NONE
               : owners_account(&session->root->engine->owners, session->owner);
}

uint32_t session_user_at(const struct root *root, const char *path, uint32_t noted,
                         uint32_t seen)
{
    struct stat st;
    if (noted) {
        return noted - 1;
    }
    return fstatat(root->fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 ? (uint32_t)st.st_uid
                                                                  : seen;
}

uint32_t session_user(const struct session *session)
{
    return session_user_at(session->root, session->path, session->directory.user,
                           session->owner);
}

bool session_is_anothers(const struct session *session)
{
    const struct engine_config *config = &session->root->engine->config;
    return config->once && !config->named && session->inspected &&
           session->owner != geteuid();
}

void session_note_compared(struct session *session, uint64_t bytes)
{
    uint64_t counts = bytes < session->compare_left ? bytes : session->compare_left;
    session->compare_left -= counts;
    session->root->engine->counters.compared_bytes += counts;
}

bool session_is_one(const struct session *session)
{
    return !session->crowd || session->streams > 0;
}

bool session_is_listed(const struct session *session)
{
    return session->presence == SESSION_PRESENT || session->presence == SESSION_ABSENT;
}

bool session_writer_is_gone(const struct session *session)
{
    return session->writer == SESSION_WRITER_GONE ||
           session->writer == SESSION_WRITER_ENDED;
}

bool session_writer_is_unprobed(const struct session *session)
{
    return session->writer == SESSION_WRITER_UNKNOWN ||
           session->writer == SESSION_WRITER_ENDED;
}

bool session_silent(const struct session *session, uint64_t now_ms)
{
    return session->last_growth_ms &&
           now_ms - session->last_growth_ms >= SESSION_SILENCE_MS;
}

bool session_writer_is_silent(const struct session *session, uint64_t now_ms)
{
    return session_writer_is_unprobed(session) && session_silent(session, now_ms);
}

bool session_tells(const struct session *session)
{
    return session->watched && session->writer == SESSION_WRITER_LIVES &&
           !session->root->engine->polling;
}
