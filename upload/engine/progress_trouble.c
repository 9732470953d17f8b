/* SPDX-License-Identifier: Apache-2.0 */
/* Puts what stands in the way of sessions into the progress file, for people. */
#include "upload/engine/progress_trouble.h"

#include <inttypes.h>
#include <stdio.h>

#include "upload/core/engine_state.h"
#include "upload/core/held.h"
#include "upload/core/offer.h"
#include "upload/core/room.h"
#include "upload/core/session.h"
#include "upload/core/session_streams.h"
#include "upload/lifecycle/other_root.h"
#include "upload/owners/owners.h"

#define NAMED_OWNERS 64u
#define NAMED_OF_ONE 64u

/* For when the directory is gone. */
static void progress_trouble_owner(struct text *text, const char *path, uint32_t owner)
{
    if (owner != SESSION_OWNER_UNKNOWN) {
        text_printf(text, "!owner %s %" PRIu32 "\n", path, owner);
    }
}

static void progress_trouble_parked_owner(struct text *text, const struct root *root,
                                          const struct parked_session *s)
{
    progress_trouble_owner(
        text, s->node.path,
        session_user_at(root, s->node.path, s->user, SESSION_OWNER_UNKNOWN));
}

static void progress_trouble_put(struct text *text, const struct session *s,
                                 const char *channel, const char *what)
{
    progress_trouble_owner(text, s->path, session_user(s));
    text_printf(text, "!held %s %s %.155s\n", s->path, channel, what);
}

static void progress_trouble_held(struct text *text, const struct session *s)
{
    if (s->presence == SESSION_AWAY && s->wanted && s->state != SESSION_DONE) {
        progress_trouble_put(text, s, "*", held_text(HELD_AWAY));
    } else if (s->held && s->hold_reason) {
        progress_trouble_put(text, s, "*", held_text((enum held_reason)s->hold_reason));
    } else if (s->state == SESSION_COMPLETING && s->claim_foreign) {
        progress_trouble_put(text, s, "*", held_text(HELD_FOREIGN));
    } else if (s->state == SESSION_COMPLETING && s->complete_refused) {
        char what[156];
        snprintf(what, sizeof what,
                 "all is sent, but the backend answers %d to the request that ends it: "
                 "ask its operator",
                 s->complete_refused);
        progress_trouble_put(text, s, "*", what);
    } else if (s->ends_refused) {
        char what[156];
        snprintf(what, sizeof what,
                 "the backend answers %d to the question how far it has it: ask its "
                 "operator",
                 s->ends_refused);
        progress_trouble_put(text, s, "*", what);
    } else if (s->salvage != SESSION_SALVAGE_NONE && s->salvage != SESSION_SALVAGE_RUNS &&
               s->salvage_reason) {
        progress_trouble_put(text, s, "*", s->salvage_reason);
    }
    for (unsigned i = 0; i < s->streams; i++) {
        const struct stream *st = s->stream[i];
        if (stream_hold_stands(st)) {
            char what[HELD_TEXT_MAX];
            stream_hold_text(st, (enum held_reason)st->hold_reason, what);
            progress_trouble_put(text, s, stream_channel(st), what);
        } else if (st->offer && st->offer->waits_why[0]) {
            progress_trouble_put(text, s, stream_channel(st), st->offer->waits_why);
        }
    }
}

/* What is shown of parked sessions that are held: some of each owner's. */
struct parked_named {
    struct text *text;
    const struct root *root;
    struct {
        uint32_t account;
        unsigned named; /* 0 = the place is free */
    } of[NAMED_OWNERS];
    unsigned more;
};

/* How many of an account are named. More accounts than there are places share them. */
static unsigned *progress_trouble_named(struct parked_named *named, uint32_t account)
{
    unsigned at = account % NAMED_OWNERS;
    for (unsigned i = 0; i < NAMED_OWNERS; i++) {
        unsigned place = (account + i) % NAMED_OWNERS;
        if (named->of[place].account == account || !named->of[place].named) {
            named->of[place].account = account;
            at = place;
            break;
        }
    }
    return &named->of[at].named;
}

static void progress_trouble_parked(void *arg, struct parked_held *held)
{
    struct parked_named *named = arg;
    const struct parked_session *s = parked_held_session(held);
    const struct owners *owners = &named->root->engine->owners;
    unsigned *count = progress_trouble_named(named, owners_account(owners, s->owner));
    if (!held->hold_reason) {
        return; /* files that are not read: whoever looks sees them */
    }
    if (*count >= NAMED_OF_ONE) {
        named->more++;
        return;
    }
    ++*count;
    progress_trouble_parked_owner(named->text, named->root, s);
    text_printf(named->text, "!held %s * %.120s\n", s->node.path,
                held_text((enum held_reason)held->hold_reason));
}

/* A complete session whose place a directory of another user has. */
static void progress_trouble_replaced(void *arg, struct parked_session *s)
{
    const struct parked_named *named = arg;
    if (s->replaced && !s->conceded) {
        progress_trouble_parked_owner(named->text, named->root, s);
        text_printf(named->text, "!held %s * %s\n", s->node.path,
                    held_text(HELD_REPLACED));
    }
}

/* Directories that are left to another uploader. */
static void progress_trouble_others(struct parked_named *named, const struct root *root)
{
    unsigned count = other_root_count(root);
    const char *name;
    unsigned i = 0;
    for (; (name = other_root_name(root, i)); i++) {
        progress_trouble_owner(named->text, name,
                               session_user_at(root, name, 0, SESSION_OWNER_UNKNOWN));
        text_printf(named->text,
                    "!held %s * skipped: it has an uploader or a journal of its own\n",
                    name);
    }
    named->more += count > i ? count - i : 0;
}

static void progress_trouble_waiting(void *arg, uint32_t owner, unsigned count)
{
    text_printf(arg, "!waits %" PRIu32 " %u\n", owner, count);
}

void progress_trouble_add(struct text *text, struct root *root)
{
    const struct engine *engine = root->engine;
    if (engine->trouble.since_s) {
        text_printf(text, "!trouble %" PRId64 " %.300s\n", engine->trouble.since_s,
                    engine->trouble.last);
    }
    if (engine->trouble.aside[0]) {
        text_printf(text, "!aside %s\n", engine->trouble.aside);
    }
    for (const struct session *s = root->sessions; s; s = s->next) {
        progress_trouble_held(text, s);
    }
    struct parked_named named = {.text = text, .root = root};
    parked_each_held(&root->parked, progress_trouble_parked, &named);
    if (root->parked.replaced) {
        parked_each_complete(&root->parked, progress_trouble_replaced, &named);
    }
    progress_trouble_others(&named, root);
    room_each(root, progress_trouble_waiting, text);
    if (named.more) {
        text_printf(text, "!more %u\n", named.more);
    }
}
