/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the directories that claim a session id. The first one from which something
 * was sent has it. Of two of which nothing was sent yet, the one has it that proves that
 * the id is of its user. If none does, neither has it if they belong to different users:
 * all else that could tell them apart, a stranger can set up. */
#include "upload/lifecycle/claim.h"

#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "upload/core/claimant.h"
#include "upload/core/claims.h"
#include "upload/core/session_streams.h"
#include "upload/lifecycle/moved.h"
#include "upload/lifecycle/moved_root.h"
#include "upload/lifecycle/replaced.h"

/* The one that has the id, as far as it is known. */
static struct claimant claim_holder(const struct claim *claim)
{
    struct root *root = claim->root;
    struct claimant c = {
        .root = root, .path = claim->path, .session = session_find(root, claim->path)};
    const struct session *s = c.session;
    const struct parked_session *parked = parked_find(&root->parked, claim->path);
    c.complete = s ? s->state == SESSION_DONE : parked && parked->complete;
    c.begun = c.complete || (s && session_begun(s) && !session_is_foreign(s));
    c.locked = s && s->inspected && !s->held ? s->writer == SESSION_WRITER_LIVES
                                             : claimant_is_locked(&c);
    claimant_ask_disk(&c);
    c.there = c.there && !replaced_at(root, c.path);
    return c;
}

static bool claim_is_same(const struct claim *claim, const struct session *session)
{
    return claim->root == session->root && strcmp(claim->path, session->path) == 0;
}

/* Neither has more right to the id than the other, and nothing would be lost. */
static bool claim_is_contested(const struct claim *claim, const struct claimant *a,
                               const struct claimant *b)
{
    return !claim->disputed && !a->begun && !b->begun && a->there && b->there &&
           claimant_owner_differs(a, b) && claimant_is_own(a) == claimant_is_own(b) &&
           claimant_is_bound(a) == claimant_is_bound(b);
}

/* It was begun, and may have been a directory of this user before it went away. */
static bool claim_may_come_back(const struct claim *claim, const struct claimant *c)
{
    return c->begun && !c->there && (!claim->has_owner || claim->owner == geteuid());
}

static bool claim_passes_on(const struct claim *claim, const struct claimant *from,
                            const struct claimant *to)
{
    if (claimant_is_own(from) != claimant_is_own(to) &&
        !claim_may_come_back(claim, from)) {
        return claimant_is_own(to);
    }
    if (!from->there && !from->begun) {
        return true; /* nothing is known of it that could be mixed up */
    }
    if (!from->begun && claimant_is_bound(to) && !claimant_is_bound(from)) {
        return true;
    }
    if (from->begun || claim->disputed) {
        return false;
    }
    return to->begun ||
           (!claimant_owner_differs(from, to) && to->locked && !from->locked);
}

static void claim_say(const struct session *session, const struct claim *claim)
{
    const struct log *log = session->root->engine->config.log;
    uint32_t about = session_log_about(session);
    log_warn(log, "session.claimed",
             "session=%s held=%s/%s %s=%s/%s note=\"two directories have the same "
             "session id\"",
             session->id, session->root->path, session->path,
             claim->contested ? "also_held" : "read", claim->root->path, claim->path);
    log_about(log, about);
}

/* What others do is no failure of an upload: its own session is sent. */
static bool claim_is_conceded(const struct session *session, const struct claim *claim)
{
    bool own = geteuid() != 0 && claim->has_owner && claim->owner == geteuid();
    return (session->root->engine->config.in_job && own) ||
           (replaced_is_conceded(session->root, session->seen.user) &&
            claim_holder(claim).complete);
}

/* It is not the session of that id, or may not be. */
static void claim_lose(struct session *session, const struct claim *claim,
                       enum held_reason reason)
{
    bool conceded = claim_is_conceded(session, claim);
    if (!session->hold_reason && !claim_is_same(claim, session)) {
        claim_say(session, claim);
    }
    if (session->state != SESSION_DONE) {
        session_set_state(session, SESSION_OPEN);
    }
    session->root->change_stamp += !session->inspected;
    session->inspected = true;
    session->held = true;
    session->wanted = session->wanted && !conceded;
    if (!conceded) {
        session_hold(session, reason);
    }
}

bool claim_is_listed(const struct engine *engine)
{
    for (unsigned i = 0; i < engine->roots; i++) {
        if (!engine->root[i]->listed && !engine->root[i]->away) {
            return false;
        }
    }
    return true;
}

static void claim_note_owner(struct claim *claim, const struct claimant *holder)
{
    if (holder->there) {
        claim->has_owner = holder->owner != SESSION_OWNER_UNKNOWN;
        claim->owner = holder->owner;
    }
}

/* Writes down who has the id, once all were seen that could have it. \return false if
 * that is not possible now. */
static bool claim_settle(struct claim *claim, const struct claimant *holder)
{
    claim->listing = claim->root->listing_number;
    claim_note_owner(claim, holder);
    if (!claim->disputed && claim_is_listed(claim->root->engine)) {
        claim->disputed = claims_journal(claim);
        return claim->disputed;
    }
    return true;
}

/* The id goes to \p to; the one that had it is held. */
static bool claim_pass_on(struct claim *claim, const struct claimant *from,
                          const struct claimant *to)
{
    bool known = claim->disputed || (from->there && claims_knows(from->root, from->path));
    if (!claims_move(claim, to->root, to->path)) {
        return false;
    }
    claim->disputed = false; /* the journal names the other one */
    if (known && !claim_settle(claim, to)) {
        return false;
    }
    if (from->session && from->session->state != SESSION_DONE) {
        claim_lose(from->session, claim, HELD_CLAIMED);
    }
    return true;
}

/* Both wait until one of them is removed. */
static void claim_contest(struct claim *claim, const struct claimant *holder,
                          struct session *session)
{
    claim->contested = true;
    claim_lose(session, claim, HELD_CONTESTED);
    if (holder->session) {
        claim_lose(holder->session, claim, HELD_CONTESTED);
    }
}

static bool claim_rivals(const struct claim *claim, const struct claimant *own,
                         struct root *root, const char *path)
{
    struct claimant other = {.root = root, .path = path};
    claimant_ask_disk(&other);
    return claim_is_contested(claim, own, &other);
}

static bool claim_has_rival(const struct claim *claim, const struct claimant *own,
                            struct root *root)
{
    const char *id = own->session->id;
    bool found = false;
    for (const struct session *s = session_of_id(root, id); s && !found;
         s = session_next_of_id(s)) {
        found = s != own->session && session_is_one(s) &&
                claim_rivals(claim, own, root, s->path);
    }
    struct parked_held *held = parked_held_find(&root->parked, id);
    for (; held && !found; held = parked_held_next(held)) {
        found = claim_rivals(claim, own, root, parked_held_session(held)->node.path);
    }
    return found;
}

/* Whether a directory of another user still claims the id of which nothing was sent. */
static bool claim_stays_contested(struct claim *claim, struct claimant *own)
{
    const struct engine *engine = own->root->engine;
    bool contested = false;
    for (unsigned i = 0; i < engine->roots && claim->contested && !contested; i++) {
        contested = claim_has_rival(claim, own, engine->root[i]);
    }
    claim->contested = contested;
    return contested;
}

/* \return whether it is the directory that has the id, which was moved. */
static bool claim_follow(struct claim *claim, const struct claimant *holder,
                         struct session *session)
{
    if (holder->root != session->root || !moved_follow(session, claim->path) ||
        !claims_move(claim, session->root, session->path)) {
        return false;
    }
    if (claim->disputed) {
        (void)claims_journal(claim); /* a journal that fails is rewritten with it */
    }
    return true;
}

/* \return whether the session gets the id that another directory has. */
static bool claim_dispute(struct claim *claim, struct session *session,
                          struct claimant *own)
{
    struct claimant holder = claim_holder(claim);
    session->held = true;
    enum moved_root moved = moved_follow_root(session, holder.root, holder.path);
    if (moved != MOVED_ROOT_NOT) {
        own->begun = true;
        return moved == MOVED_ROOT_DONE;
    }
    if (claim_follow(claim, &holder, session)) {
        own->begun = true;
        return true;
    }
    if (claim_is_contested(claim, &holder, own)) {
        claim_contest(claim, &holder, session);
        return false;
    }
    if (claim_passes_on(claim, &holder, own)) {
        return claim_pass_on(claim, &holder, own);
    }
    if (claim_settle(claim, &holder)) {
        claim_lose(session, claim, holder.there ? HELD_CLAIMED : HELD_MOVED);
    } /* else the journal is broken: at the next look */
    return false;
}

static struct claim *claim_of(struct session *session)
{
    struct claim *claim = claims_find(session->root->engine, session->id);
    struct root *other = claim ? NULL : claims_root_of(session->root, session->path);
    if (other) {
        return claims_add(other, session->id);
    }
    return claim || session->id == session->path
               ? claim
               : claims_add(session->root, session->path);
}

/* A directory that is listed later may have more right to the id, but none of another
 * user has if it is bound to this one; and of those of this user, one that is locked has
 * most. */
static bool claim_is_first(const struct claimant *own)
{
    const struct engine *engine = own->root->engine;
    return claim_is_listed(engine) ||
           ((own->locked || claimant_owner_is_served(own)) && claimant_is_bound(own));
}

bool claim_check(struct session *session, const struct scan *scan, enum liveness writer)
{
    struct engine *engine = session->root->engine;
    struct claim *claim = claim_of(session);
    struct claimant own = {.root = session->root,
                           .path = session->path,
                           .session = session,
                           .there = true,
                           .owner = session->seen.user - 1,
                           .begun = session_begun(session),
                           .locked = writer == WRITER_LIVE};
    if (!session->inspected) {
        session->layout = (uint8_t)scan->layout;
    }
    if (claim && !claim_is_same(claim, session) && !claim_dispute(claim, session, &own)) {
        return false;
    }
    if (moved_waits_for_roots(session)) {
        session->held = true;
        return false;
    }
    if (claim && claim_stays_contested(claim, &own)) {
        claim_lose(session, claim, HELD_CONTESTED);
        return false;
    }
    if (engine->config.service && !own.begun && !session->alone &&
        !claim_is_first(&own)) {
        session->held = true;
        engine->search.wanted = true;
        return false;
    }
    return true;
}

void claim_note(struct root *root, const char *path)
{
    const char *slash = strrchr(path, '/');
    struct root *other = slash ? claims_root_of(root, path) : NULL;
    if (slash) { /* without memory: when it is inspected */
        (void)claims_add(other ? other : root, other ? slash + 1 : path);
    }
}

/* Something was sent of it. */
static void claim_note_known(struct root *root, const char *path)
{
    if (strchr(path, '/')) {
        (void)claims_add(root, path); /* without memory: when it is inspected */
    }
}

static void claim_note_parked(void *arg, struct parked_session *parked)
{
    claim_note_known(arg, parked->node.path);
}

void claim_replayed(struct root *root)
{
    for (const struct session *s = root->sessions; s; s = s->next) {
        claim_note_known(root, s->path);
    }
    parked_each_complete(&root->parked, claim_note_parked, root);
}

/* While one is held for it, a claim lasts: else the one that waits would get the id of a
 * session that is complete and forgotten. */
static void claim_renew(const struct root *root, const char *id, uint8_t hold_reason)
{
    bool waits = hold_reason == HELD_CLAIMED || hold_reason == HELD_MOVED;
    struct claim *claim = waits ? claims_find(root->engine, id) : NULL;
    if (claim) {
        claim->listing = claim->root->listing_number;
    }
}

static void claim_renew_held(void *arg, struct parked_held *held)
{
    claim_renew(arg, held->by_id.path, held->hold_reason);
}

static void claim_renew_disputed(struct root *root)
{
    for (const struct session *s = root->sessions; s; s = s->next) {
        claim_renew(root, s->id, s->hold_reason);
    }
    parked_each_held(&root->parked, claim_renew_held, root);
}

/* All that waited for the first listing are looked at, the parked ones by another. */
static void claim_listed_once(struct root *root)
{
    for (struct session *s = root->sessions; s; s = s->next) {
        if (s->held) {
            session_mark(s);
        }
    }
    root->list_soon = root->list_soon || root->parked.held_ids.count > 0;
}

void claim_served(const struct root *root)
{
    const struct engine *engine = root->engine;
    for (unsigned i = 0; i < engine->roots; i++) {
        for (struct session *s = engine->root[i]->sessions; s; s = s->next) {
            if (s->held) {
                session_mark(s);
            }
        }
    }
}

void claim_listed(struct root *root)
{
    const struct engine *engine = root->engine;
    bool first = !root->listed;
    root->listed = true;
    for (unsigned i = 0; first && i < engine->roots; i++) {
        claim_listed_once(engine->root[i]);
    }
    claim_renew_disputed(root);
    claims_sweep(root);
}
