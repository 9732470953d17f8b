/* SPDX-License-Identifier: Apache-2.0 */
/* The only file that includes libinotifytools, and its thread the only one that calls it:
 * the library keeps its state in globals and waits in select(2). */
#include "agent/watch/watch.h"

#include <errno.h>
#include <inotifytools/inotify.h>
#include <inotifytools/inotifytools.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/watch/watch_places.h"
#include "agent/watch/watch_rate.h"
#include "agent/watch/watch_requests.h"
#include "agent/watch/watch_untold.h"
#include "agent/watch/watch_wake.h"
#include "schema/layout.h"

#define SESSION_EVENTS                                                                   \
    (IN_MODIFY | IN_CLOSE_WRITE | IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE |  \
     IN_MOVE_SELF | IN_DELETE_SELF | IN_DONT_FOLLOW | IN_ONLYDIR)
#define ROOT_EVENTS                                                                      \
    (IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_MOVE_SELF |                \
     IN_DELETE_SELF | IN_DONT_FOLLOW | IN_ONLYDIR)
#define WAIT_S 1
/* Without a nap: so many are made meanwhile that the queue would soon be full. */
#define EVENTS_BUSY 1024u
/* The engine is woken then, even if there are more. */
#define EVENTS_ROUND 16384u

struct watch {
    uint64_t nap_ms;
    void (*wake)(void *arg);
    void *arg;
    pthread_t thread;
    _Atomic bool stopping;
    struct watch_wake wake_up;
    struct watch_hints hints;
    struct watch_places places; /* the thread's own */
    struct watch_rate rate;     /* likewise, and what follows */
    struct watch_untold untold;
    struct watch_place *resting; /* roots that are watched again soon */
    struct watch_requests requests;
};

static int watch_inotify = -1; /* of the library */

bool watch_init(void)
{
    watch_inotify = watch_wake_next_fd();
    return inotifytools_initialize() != 0;
}

size_t watch_take(struct watch *w, const struct watch_hint **first)
{
    return watch_hints_take(&w->hints, first);
}

bool watch_overflowed(struct watch *w)
{
    return watch_hints_overflowed(&w->hints);
}

bool watch_incomplete(const struct watch *w)
{
    return watch_rate_now_ms() <
           atomic_load_explicit(&w->untold.incomplete_until_ms, memory_order_relaxed);
}

void watch_request(struct watch *w, unsigned root, const char *root_path,
                   const char *session, enum watch_ask ask)
{
    struct watch_place *p = watch_place_make(root, root_path, session);
    if (p) {
        p->done = ask == ASK_UNWATCH;
        p->group = ask == ASK_WATCH_GROUP;
        watch_requests_add(&w->requests, p);
    }
}

static struct watch_place *forget(struct watch *w, const struct watch_place *p)
{
    return watch_places_remove(&w->places,
                               watch_places_link(&w->places, p->root, p->session));
}

/* The engine lists a root that is watched again, and polls a directory. */
static void rest(struct watch *w, struct watch_place *p)
{
    inotifytools_remove_watch_by_wd(p->wd);
    (void)forget(w, p);
    if (!p->session[0]) {
        p->next = w->resting;
        w->resting = p;
        return;
    }
    watch_untold_say(&w->untold, p,
                     "more happens in this user's directories than is followed: they "
                     "are polled every 10 s for a while");
    watch_untold_let_go(&w->untold, p, HINT_CHANGED);
}

static void hint_of(struct watch *w, struct watch_place *p, enum watch_what what,
                    const char *file)
{
    struct watch_news news = {p->root, what, file, p->session, TOLD_NOTHING, p->owner};
    if (!watch_hints_add(&w->hints, &p->mark, &news)) {
        rest(w, p);
    }
}

static void unwatch(void *arg, struct watch_place *p)
{
    (void)arg;
    inotifytools_remove_watch_by_wd(p->wd);
    free(p);
}

static void unwatch_renamed(void *arg, struct watch_place *p)
{
    inotifytools_remove_watch_by_wd(p->wd);
    watch_untold_let_go(&((struct watch *)arg)->untold, p, HINT_UNWATCHED);
}

/* What one directory has, as rights to it, concerns no other. The next listing asks for a
 * group again. */
static void not_watched(struct watch *w, struct watch_place *p, const char *path,
                        int error)
{
    bool root = p->session[0] == '\0';
    if (error == ENOENT || error == ENOTDIR || p->group) {
        free(p);
        return;
    }
    if (root || error == ENOSPC || error == ENOMEM) {
        watch_untold_warn(&w->untold, path, error);
    } else {
        watch_untold_say(&w->untold, p, strerror(error));
    }
    if (root) {
        p->next = w->resting;
        w->resting = p;
    } else {
        watch_untold_let_go(&w->untold, p, HINT_CHANGED);
    }
}

/* Takes over \p p. */
static void add_place(struct watch *w, struct watch_place *p, enum watch_told told)
{
    /* The library keeps names of directories with a slash added. */
    char path[PATH_MAX + LAYOUT_NAME_MAX];
    bool root = p->session[0] == '\0';
    snprintf(path, sizeof path - 1, "%s%s%s", p->root_path, root ? "" : "/", p->session);
    watch_place_find_owner(p, path);
    if (!root && !(watch_untold_has_room(&w->untold, &w->places, p) &&
                   watch_rate_has_room(&w->rate, p->owner))) {
        /* One that nobody has asked for is new to the engine. */
        watch_untold_refuse(&w->untold, p,
                            told == TOLD_WATCHED ? HINT_CHANGED : HINT_NOTHING);
        return;
    }
    if (!inotifytools_watch_file(path, root ? ROOT_EVENTS : SESSION_EVENTS)) {
        not_watched(w, p, path, inotifytools_error());
        return;
    }
    size_t len = strlen(path);
    memcpy(path + len, "/", 2);
    p->wd = inotifytools_wd_from_filename(path);
    if (p->wd < 0) {
        path[len] = '\0';
        p->wd = inotifytools_wd_from_filename(path);
    }
    struct watch_place *other = watch_places_by_wd(&w->places, p->wd);
    if (other) { /* renamed, and the event was lost or is still to come */
        watch_untold_let_go(&w->untold, forget(w, other), HINT_UNWATCHED);
    }
    p = watch_place_trim(p);
    watch_places_insert(&w->places, p);
    if (!watch_untold_tell(&w->untold, &p->mark, p, HINT_CHANGED, told)) {
        rest(w, p);
    }
}

static void serve_requests(struct watch *w, struct watch_place *requests)
{
    bool added = false;
    while (requests) {
        struct watch_place *p = requests;
        requests = p->next;
        struct watch_place **known = watch_places_link(&w->places, p->root, p->session);
        if (!p->done && !*known) {
            if (!p->session[0]) {
                watch_place_list_drop(&w->resting, p->root);
            }
            add_place(w, p, TOLD_NOTHING);
            added = true;
            continue;
        }
        if (p->done && !p->session[0]) {
            (void)watch_places_remove_below(&w->places, p->root, "", unwatch, w);
            watch_place_list_drop(&w->resting, p->root);
        } else if (p->done && *known) {
            unwatch(w, watch_places_remove(&w->places, known));
        } else if (p->group) {
            (*known)->group = true;
        }
        free(p);
    }
    if (added) {
        w->wake(w->arg);
    }
}

/* A directory that is renamed keeps its watch, and so do those in it. They would still be
 * known by their old names, under which there may be others soon, and the library would
 * have two entries for one watch: all of them are watched anew. */
static void on_moved(struct watch *w, const struct watch_place *p, const char *below)
{
    char name[WATCH_SESSION_MAX + NAME_MAX]; /* the place may be freed */
    snprintf(name, sizeof name, "%s%s%s", p->session, p->session[0] && *below ? "/" : "",
             below);
    (void)watch_places_remove_below(&w->places, p->root, name, unwatch_renamed, w);
}

static bool names_directory(const struct inotify_event *event)
{
    return (event->mask & IN_ISDIR) && event->len && layout_name_ok(event->name);
}

/* One that appears in a root is watched at once, before the engine asks, and so is one in
 * a group: the listing of all that is there may take long. */
static void on_directory(struct watch *w, struct watch_place *in,
                         const struct inotify_event *event)
{
    char path[WATCH_SESSION_MAX];
    bool is_new = event->mask & (IN_CREATE | IN_MOVED_TO);
    const struct watch_place *root = *watch_places_link(&w->places, in->root, "");
    snprintf(path, sizeof path, "%s%s%s", in->session, in->session[0] ? "/" : "",
             event->name);
    struct watch_place *known = *watch_places_link(&w->places, in->root, path);
    struct watch_place *p = is_new && root && !known
                                ? watch_place_make(in->root, root->root_path, path)
                                : NULL;
    if (p) {
        add_place(w, p, TOLD_WATCHED);
    } else if (known || in->session[0]) {
        hint_of(w, known ? known : in, HINT_CHANGED, "");
    } else {
        watch_untold_hint_at(&w->untold, in->root, path);
    }
}

/* The library keeps what the kernel has dropped, and would find it by the name of a
 * directory that is made anew. It can only be renamed, in its place in a sorted tree: no
 * name comes between this one and one with a control character added. */
static void forget_name(int wd)
{
    char name[PATH_MAX + LAYOUT_NAME_MAX];
    const char *old = inotifytools_filename_from_wd(wd);
    if (old) {
        snprintf(name, sizeof name, "%s\001", old);
        inotifytools_set_filename_by_wd(wd, name);
    }
}

static void on_event(struct watch *w, const struct inotify_event *event)
{
    if (event->mask & IN_Q_OVERFLOW) {
        watch_hints_set_overflowed(&w->hints);
        return;
    }
    struct watch_place *p = watch_places_by_wd(&w->places, event->wd);
    if (!p) {
        return;
    }
    if ((event->mask & IN_MOVED_FROM) && (event->mask & IN_ISDIR) && event->len) {
        on_moved(w, p, event->name);
    }
    if (event->mask & IN_IGNORED) { /* the kernel has dropped it already */
        forget_name(event->wd);
        watch_untold_let_go(&w->untold, forget(w, p), HINT_UNWATCHED);
    } else if (!watch_rate_spend(&w->rate, p->owner)) {
        rest(w, p);
    } else if (p->session[0] && (event->mask & IN_MOVE_SELF)) {
        on_moved(w, p, ""); /* which its parent may not have told */
    } else if (event->mask & (IN_MOVE_SELF | IN_DELETE_SELF) && !p->session[0]) {
        watch_untold_hint_at(&w->untold, p->root, ""); /* another one, or none */
    } else if ((p->group || !p->session[0]) && names_directory(event)) {
        on_directory(w, p, event);
    } else if (p->session[0]) {
        bool grew = event->mask == IN_MODIFY;
        hint_of(w, p, grew ? HINT_GREW : HINT_CHANGED,
                grew && event->len ? event->name : "");
    }
}

/* Once a second, however many events there are. */
static void watch_turn(struct watch *w)
{
    if (!watch_rate_turn(&w->rate, watch_rate_now_ms())) {
        return;
    }
    struct watch_place *p = w->resting;
    w->resting = NULL;
    for (struct watch_place *next; p; p = next) {
        next = p->next;
        add_place(w, p, TOLD_NOTHING);
        w->wake(w->arg);
    }
}

/* \return how many there were. */
static unsigned follow_events(struct watch *w, int wait_s)
{
    const struct inotify_event *event = inotifytools_next_events(wait_s, 1);
    unsigned count = 0;
    while (event) {
        on_event(w, event);
        event = ++count < EVENTS_ROUND ? inotifytools_next_events(0, 1) : NULL;
    }
    return count;
}

static void *watch_run(void *arg)
{
    struct watch *w = arg;
    while (!atomic_load_explicit(&w->stopping, memory_order_relaxed)) {
        struct watch_place *requests = watch_requests_take(&w->requests);
        watch_turn(w);
        watch_untold_retry(&w->untold);
        unsigned count = follow_events(w, 0); /* of renames that led to the requests */
        serve_requests(w, requests);
        count += follow_events(w, count ? 0 : watch_wake_wait(&w->wake_up, WAIT_S));
        if (!count) {
            continue;
        }
        w->wake(w->arg);
        /* Waking for each event would cost more than the events do: gather some. */
        if (w->nap_ms && count < EVENTS_BUSY) {
            poll(NULL, 0, (int)w->nap_ms);
        }
    }
    return NULL;
}

gpufl_status watch_open(const struct log *log, uint64_t nap_ms, unsigned max,
                        void (*wake)(void *arg), void *arg, struct watch **out)
{
    *out = NULL;
    struct watch *w = calloc(1, sizeof *w);
    if (!w) {
        return GPUFL_ERR_NOMEM;
    }
    w->untold.log = log;
    w->untold.hints = &w->hints;
    w->nap_ms = nap_ms;
    w->places.shares.limit = max;
    w->wake = wake;
    w->arg = arg;
    watch_requests_init(&w->requests);
    watch_hints_init(&w->hints);
    if (!watch_wake_open(&w->wake_up, watch_inotify) ||
        pthread_create(&w->thread, NULL, watch_run, w) != 0) {
        watch_wake_close(&w->wake_up);
        free(w);
        return GPUFL_ERR_NOMEM;
    }
    *out = w;
    return GPUFL_OK;
}

void watch_close(struct watch *w)
{
    if (!w) {
        return;
    }
    atomic_store_explicit(&w->stopping, true, memory_order_relaxed);
    watch_wake_up(&w->wake_up);
    pthread_join(w->thread, NULL);
    watch_places_free(&w->places);
    watch_requests_fini(&w->requests);
    watch_untold_close(&w->untold);
    watch_place_list_free(w->resting);
    watch_rate_close(&w->rate);
    inotifytools_cleanup();
    watch_hints_fini(&w->hints);
    watch_wake_close(&w->wake_up);
    free(w);
}
