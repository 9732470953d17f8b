/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps places that are not watched any more as long as their owner's hints have no room.
 */
#include "agent/watch/watch_untold.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/watch/watch_rate.h"

#define WATCH_UNTOLD_MAX 16384u
/* Since the last failure. */
#define INCOMPLETE_MS 10000u

bool watch_untold_tell(struct watch_untold *u, struct watch_mark *mark,
                       const struct watch_place *p, enum watch_what what,
                       enum watch_told told)
{
    struct watch_news news = {p->root, what, "", p->session, told, p->owner};
    return watch_hints_add(u->hints, mark, &news);
}

void watch_untold_hint_at(struct watch_untold *u, unsigned root, const char *session)
{
    struct watch_news news = {root, HINT_CHANGED, "", session, TOLD_NOTHING, WATCH_ROOTS};
    if (!watch_hints_add(u->hints, NULL, &news)) {
        watch_hints_set_overflowed(u->hints);
    }
}

void watch_untold_let_go(struct watch_untold *u, struct watch_place *p,
                         enum watch_what what)
{
    enum watch_told told = what == HINT_UNWATCHED ? TOLD_NOTHING : TOLD_REFUSED;
    if (watch_untold_tell(u, &p->mark, p, what, told)) {
        free(p);
    } else if (u->count < WATCH_UNTOLD_MAX) {
        p->untold = what;
        p->next = u->first;
        u->first = p;
        u->count++;
    } else {
        watch_hints_set_overflowed(u->hints);
        free(p);
    }
}

void watch_untold_retry(struct watch_untold *u)
{
    struct watch_place *p = u->first;
    u->first = NULL;
    u->count = 0;
    for (struct watch_place *next; p; p = next) {
        next = p->next;
        watch_untold_let_go(u, p, p->untold);
    }
}

void watch_untold_say(struct watch_untold *u, const struct watch_place *p,
                      const char *why)
{
    if (shares_of(&u->said, p->owner) == 0) {
        shares_add(&u->said, p->owner, 1);
        log_warn(u->log, "watch.refused", "directory=%s owner=%u note=\"%s\"", p->session,
                 p->owner, why);
    }
}

bool watch_untold_has_room(struct watch_untold *u, const struct watch_places *places,
                           const struct watch_place *p)
{
    if (watch_places_have_room(places, p)) {
        return true;
    }
    watch_untold_say(u, p,
                     "this user has as many directories watched as one may have: "
                     "further ones are polled every 10 s");
    return false;
}

void watch_untold_refuse(struct watch_untold *u, struct watch_place *p,
                         enum watch_what what)
{
    if (p->group) {
        free(p);
    } else {
        watch_untold_let_go(u, p, what);
    }
}

void watch_untold_warn(struct watch_untold *u, const char *path, int error)
{
    uint64_t now_ms = watch_rate_now_ms();
    if (atomic_exchange_explicit(&u->incomplete_until_ms, now_ms + INCOMPLETE_MS,
                                 memory_order_relaxed) > now_ms) {
        return;
    }
    log_warn(u->log, "watch.incomplete", "path=%s reason=\"%s\" note=\"%s\"", path,
             error == ENOSPC ? "no inotify watch left" : strerror(error),
             error == ENOSPC ? "polling every second; raise fs.inotify.max_user_watches"
                             : "polling every second");
}

void watch_untold_close(struct watch_untold *u)
{
    watch_place_list_free(u->first);
    shares_close(&u->said);
}
