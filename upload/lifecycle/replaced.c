/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the directory of a session with the one that was noted, and looks for that one
 * elsewhere. */
#include "upload/lifecycle/replaced.h"

#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "upload/core/claimant.h"
#include "upload/core/session_streams.h"
#include "upload/core/strays.h"
#include "upload/owners/owners.h"
#include "upload/source/directory_mark.h"

/* Who owns the directory in its place, and who owned the one before. */
static void replaced_say(const struct root *root, const char *path, uint32_t user,
                         const struct directory_id *before)
{
    const struct engine *engine = root->engine;
    uint32_t about =
        log_about(engine->config.log, owners_account(&engine->owners, user - 1));
    log_warn(engine->config.log, "session.replaced",
             "dir=%s/%s user=%u was=%u note=\"the directory of another user is in the "
             "place of one of which something was sent: it is not read\"",
             root->path, path, user - 1, before->user - 1);
    log_about(engine->config.log, about);
}

static void replaced_hold(struct session *session, enum held_reason reason)
{
    if (session->state != SESSION_DONE) {
        session_set_state(session, SESSION_OPEN);
    }
    session->root->change_stamp += !session->inspected;
    session->inspected = true;
    session_hold(session, reason);
}

/* Another directory of the same user may be a copy, while the noted one lies elsewhere,
 * or what somebody restored. */
static bool replaced_admit_stray(struct session *session)
{
    struct root *root = session->root;
    uint64_t mark = session->seen.mark;
    if (session->stray != mark && strays_add(root, session)) {
        session->stray = mark;
        session->stray_listing = root->listing_number + 1;
        root->list_soon = true;
    }
    if (session->stray != mark) {
        session->held = true; /* no memory: until it is looked at again */
        return false;
    }
    if (session->elsewhere && session->elsewhere >= root->whole_listing) {
        replaced_hold(session, HELD_COPY);
        return false;
    }
    if (root->whole_listing >= session->stray_listing) {
        session->stray = session->elsewhere = 0;
        return true;
    }
    session->held = true;
    return false;
}

bool replaced_admit(struct session *session, const struct statx *seen, bool names_another)
{
    bool own = session_is_foreign(session) && claimant_proved_user(session);
    if (!session_begun(session) || own) {
        return true;
    }
    enum directory_change change = directory_compare_seen(seen, &session->directory);
    if (change == DIRECTORY_OTHER) {
        return names_another || replaced_admit_stray(session);
    }
    session->stray = session->elsewhere = 0;
    if (change == DIRECTORY_SAME) {
        return true;
    }
    if (!held_was_said(session->holds_said, (enum held_reason)session->hold_reason,
                       HELD_REPLACED)) {
        replaced_say(session->root, session->path, session->seen.user,
                     &session->directory);
    }
    replaced_hold(session, HELD_REPLACED);
    return false;
}

bool replaced_at(const struct root *root, const char *path)
{
    const struct session *s = session_find(root, path);
    const struct parked_session *parked = parked_find(&root->parked, path);
    bool is_parked = !s && parked && parked->complete;
    struct directory_id known = is_parked ? parked_directory(parked)
                                : s       ? s->directory
                                          : (struct directory_id){0};
    return (is_parked || (s && session_begun(s))) &&
           directory_compare(root->fd, path, &known) == DIRECTORY_FOREIGN;
}

static void replaced_seen_elsewhere(struct session *session, const char *path)
{
    const struct root *root = session->root;
    if (strcmp(session->path, path) == 0) {
        return;
    }
    if (!session->elsewhere) {
        uint32_t about = session_log_about(session);
        log_warn(
            root->engine->config.log, "session.other",
            "session=%s of=%s there=1 note=\"the directory of that session is %s/%s: "
            "this one has taken its name\"",
            session->id, session->id, root->path, path);
        log_about(root->engine->config.log, about);
    }
    session->elsewhere = root->listing_number;
    session_mark(session);
}

void replaced_visit(struct root *root, const char *path)
{
    uint64_t mark = strays_any(root) ? directory_look(root->fd, path).mark : 0;
    if (mark) {
        strays_each(root, mark, replaced_seen_elsewhere, path);
    }
}

void replaced_listed(struct root *root, bool whole)
{
    bool any = strays_any(root);
    root->whole_listing = whole ? root->listing_number : root->whole_listing;
    strays_clear(root);
    for (struct session *s = any ? root->sessions : NULL; s; s = s->next) {
        if (s->stray) {
            s->stray = strays_add(root, s) ? s->stray : 0;
            session_mark(s);
        }
    }
}

bool replaced_is_conceded(const struct root *root, uint32_t user)
{
    return root->engine->config.in_job && !root->engine->config.named &&
           user - 1 != geteuid();
}

static void replaced_say_parked(const struct root *root, const struct parked_session *s,
                                uint32_t user)
{
    struct engine *engine = root->engine;
    const char *slash = strrchr(s->node.path, '/');
    const char *id = slash ? slash + 1 : s->node.path;
    struct directory_id known = parked_directory(s);
    replaced_say(root, s->node.path, user, &known);
    if (replaced_is_conceded(root, user)) {
        return;
    }
    uint32_t about = log_about(engine->config.log, s->owner);
    log_error(engine->config.log, "session.held", "session=%s channel=* reason=\"%s\"",
              id, held_text(HELD_REPLACED));
    log_about(engine->config.log, about);
    trouble_say(&engine->trouble, "session %s, channel * waits: %s", id,
                held_text(HELD_REPLACED));
}

bool replaced_parked(struct root *root, struct parked_session *s,
                     const struct statx *seen)
{
    struct directory_id known = parked_directory(s);
    bool replaced = directory_compare_seen(seen, &known) == DIRECTORY_FOREIGN;
    uint32_t user = directory_id_of(seen).user;
    if (replaced && !s->replaced) {
        replaced_say_parked(root, s, user);
    }
    root->engine->trouble.stamp += replaced != s->replaced;
    parked_set_replaced(&root->parked, s, replaced, replaced_is_conceded(root, user));
    return replaced;
}
