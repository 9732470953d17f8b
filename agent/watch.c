/* SPDX-License-Identifier: Apache-2.0 */
/* The only file that includes libinotifytools, and its thread the only one that calls it:
 * the library keeps its state in globals and waits in select(2). */
#include "agent/watch.h"

#include <errno.h>
#include <inotifytools/inotify.h>
#include <inotifytools/inotifytools.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "agent/watch_places.h"
#include "schema/layout.h"

#define SESSION_EVENTS                                                                   \
    (IN_MODIFY | IN_CLOSE_WRITE | IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM |              \
     IN_DELETE_SELF | IN_DONT_FOLLOW | IN_ONLYDIR)
#define ROOT_EVENTS                                                                      \
    (IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_MOVE_SELF |                \
     IN_DELETE_SELF | IN_DONT_FOLLOW | IN_ONLYDIR)
#define WAIT_S 1
/* Directories that are watched at once: each takes some 1.5 KiB, most of it the kernel's.
 */
#define WATCHES_MAX   16384u
#define UIDS_OF_ONE   65536u
#define WATCHES_LIMIT "/proc/sys/fs/inotify/max_user_watches"

struct watch {
    const struct log *log;
    uint64_t nap_ms;
    void (*wake)(void *arg);
    void *arg;
    pthread_t thread;
    _Atomic bool stopping;
    _Atomic bool incomplete;
    struct watch_hints hints;
    struct watch_places places; /* the thread's own */
    bool refusal_said;          /* likewise */
    pthread_mutex_t lock;       /* of the requests */
    struct watch_place *requests;
    struct watch_place **requests_end; /* where to append, unless empty */
};

bool watch_init(void)
{
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
    return atomic_load_explicit(&w->incomplete, memory_order_relaxed);
}

void watch_request(struct watch *w, unsigned root, const char *root_path,
                   const char *session, bool done)
{
    struct watch_place *p = watch_place_make(root, root_path, session);
    if (p) {
        p->done = done;
        pthread_mutex_lock(&w->lock);
        *(w->requests ? w->requests_end : &w->requests) =
            p; /* in order: the last one counts */
        w->requests_end = &p->next;
        pthread_mutex_unlock(&w->lock);
    }
}

/* For a directory that is not watched. */
static void hint_at(struct watch *w, unsigned root, const char *session)
{
    struct watch_news news = {root, HINT_CHANGED, "", session, TOLD_NOTHING};
    watch_hints_add(&w->hints, NULL, &news);
}

static void refuse(struct watch *w, struct watch_place *p, enum watch_what what)
{
    if (!w->refusal_said) {
        w->refusal_said = true;
        log_warn(
            w->log, "watch.refused",
            "path=%s/%s owner=%u note=\"this user has as many directories watched as "
            "one may have: further ones are polled every 10 s\"",
            p->root_path, p->session, p->owner);
    }
    struct watch_news news = {p->root, what, "", p->session, TOLD_REFUSED};
    watch_hints_add(&w->hints, NULL, &news);
    free(p);
}

static void hint_of(struct watch *w, struct watch_place *p, enum watch_what what,
                    const char *file)
{
    struct watch_news news = {p->root, what, file, p->session, TOLD_NOTHING};
    watch_hints_add(&w->hints, &p->mark, &news);
}

static void warn_incomplete(struct watch *w, const char *path, int error)
{
    if (atomic_exchange_explicit(&w->incomplete, true, memory_order_relaxed)) {
        return;
    }
    log_warn(w->log, "watch.incomplete", "path=%s reason=\"%s\" note=\"%s\"", path,
             error == ENOSPC ? "no inotify watch left" : strerror(error),
             error == ENOSPC ? "polling every second; raise fs.inotify.max_user_watches"
                             : "polling every second");
}

static void unwatch(void *arg, struct watch_place *p)
{
    (void)arg;
    inotifytools_remove_watch_by_wd(p->wd);
}

static void unwatch_renamed(void *arg, struct watch_place *p)
{
    unwatch(arg, p);
    hint_of(arg, p, HINT_UNWATCHED, "");
}

/* Each owner may have some: without them, its directories are polled, and no others. */
static bool may_watch(const struct watch *w, struct watch_place *p, const char *path)
{
    struct stat st;
    if (!p->session[0] || lstat(path, &st) < 0) {
        return true;
    }
    /* Subordinate ids are a user's, in blocks. */
    p->owner =
        st.st_uid < UIDS_OF_ONE ? st.st_uid : st.st_uid / UIDS_OF_ONE * UIDS_OF_ONE;
    return shares_have_room(&w->places.shares, p->owner, 1);
}

/* Takes over \p p. */
static void add_place(struct watch *w, struct watch_place *p, enum watch_told told)
{
    /* The library keeps names of directories with a slash added. */
    char path[PATH_MAX + LAYOUT_NAME_MAX];
    bool root = p->session[0] == '\0';
    snprintf(path, sizeof path - 1, "%s%s%s", p->root_path, root ? "" : "/", p->session);
    if (!may_watch(w, p, path)) {
        /* One that nobody has asked for is new to the engine. */
        refuse(w, p, told == TOLD_WATCHED ? HINT_CHANGED : HINT_NOTHING);
        return;
    }
    if (!inotifytools_watch_file(path, root ? ROOT_EVENTS : SESSION_EVENTS)) {
        int error = inotifytools_error();
        if (error != ENOENT && error != ENOTDIR) {
            warn_incomplete(w, path, error);
        }
        free(p);
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
        hint_of(w, other, HINT_UNWATCHED, "");
        watch_places_remove(&w->places,
                            watch_places_link(&w->places, other->root, other->session));
    }
    p = watch_place_trim(p);
    watch_places_insert(&w->places, p);
    struct watch_news news = {p->root, HINT_CHANGED, "", p->session, told};
    watch_hints_add(&w->hints, &p->mark, &news); /* for what happened before */
}

static struct watch_place *take_requests(struct watch *w)
{
    pthread_mutex_lock(&w->lock);
    struct watch_place *requests = w->requests;
    w->requests = NULL;
    pthread_mutex_unlock(&w->lock);
    return requests;
}

static void serve_requests(struct watch *w, struct watch_place *requests)
{
    bool added = false;
    while (requests) {
        struct watch_place *p = requests;
        requests = p->next;
        struct watch_place **known = watch_places_link(&w->places, p->root, p->session);
        if (!p->done && !*known) {
            add_place(w, p, TOLD_NOTHING);
            added = true;
            continue;
        }
        if (p->done && !p->session[0]) {
            (void)watch_places_remove_below(&w->places, p->root, "", unwatch, w);
        } else if (p->done && *known) {
            inotifytools_remove_watch_by_wd((*known)->wd);
            watch_places_remove(&w->places, known);
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
static void on_moved_from(struct watch *w, const struct watch_place *parent,
                          const char *name)
{
    char session[WATCH_SESSION_MAX + NAME_MAX];
    snprintf(session, sizeof session, "%s%s%s", parent->session,
             parent->session[0] ? "/" : "", name);
    (void)watch_places_remove_below(&w->places, parent->root, session, unwatch_renamed,
                                    w);
}

/* A directory that appears in a root is watched at once, without waiting for the engine.
 */
static void on_root_event(struct watch *w, const struct watch_place *root,
                          const struct inotify_event *event)
{
    if (event->mask & (IN_MOVE_SELF | IN_DELETE_SELF)) {
        hint_at(w, root->root, ""); /* the path names another directory now, or none */
        return;
    }
    if (!(event->mask & IN_ISDIR) || !event->len || !layout_name_ok(event->name)) {
        return;
    }
    struct watch_place *known = *watch_places_link(&w->places, root->root, event->name);
    if (known) {
        hint_of(w, known, HINT_CHANGED, "");
    } else if (event->mask & (IN_CREATE | IN_MOVED_TO)) {
        struct watch_place *p =
            watch_place_make(root->root, root->root_path, event->name);
        if (p) {
            add_place(w, p, TOLD_WATCHED);
        }
    } else {
        hint_at(w, root->root, event->name);
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
        on_moved_from(w, p, event->name);
    }
    if (event->mask & IN_IGNORED) { /* the kernel has dropped it already */
        forget_name(event->wd);
        hint_of(w, p, HINT_UNWATCHED, "");
        watch_places_remove(&w->places,
                            watch_places_link(&w->places, p->root, p->session));
    } else if (p->session[0] && event->mask == IN_MODIFY) {
        hint_of(w, p, HINT_GREW, event->len ? event->name : "");
    } else if (p->session[0]) {
        hint_of(w, p, HINT_CHANGED, "");
    } else {
        on_root_event(w, p, event);
    }
}

static void nap(uint64_t ms)
{
    struct timespec t = {.tv_sec = (time_t)(ms / 1000),
                         .tv_nsec = (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

/* \return whether there were any. */
static bool follow_events(struct watch *w, int wait_s)
{
    const struct inotify_event *event = inotifytools_next_events(wait_s, 1);
    bool any = event;
    for (; event; event = inotifytools_next_events(0, 1)) {
        on_event(w, event);
    }
    return any;
}

static void *watch_run(void *arg)
{
    struct watch *w = arg;
    while (!atomic_load_explicit(&w->stopping, memory_order_relaxed)) {
        struct watch_place *requests = take_requests(w);
        bool any = follow_events(w, 0); /* of renames that led to the requests */
        serve_requests(w, requests);
        if (!follow_events(w, any ? 0 : WAIT_S) && !any) {
            continue;
        }
        w->wake(w->arg);
        /* Waking for each event would cost more than the events do: gather some. */
        if (w->nap_ms) {
            nap(w->nap_ms);
        }
    }
    return NULL;
}

/* Half of what the kernel grants: others of the same user need some, too. */
unsigned watch_max(void)
{
    unsigned granted = 0;
    FILE *file = fopen(WATCHES_LIMIT, "re");
    if (file) {
        granted = fscanf(file, "%u", &granted) == 1 ? granted : 0;
        fclose(file);
    }
    return granted && granted / 2 < WATCHES_MAX ? granted / 2 : WATCHES_MAX;
}

gpufl_status watch_open(const struct log *log, uint64_t nap_ms, unsigned max,
                        void (*wake)(void *arg), void *arg, struct watch **out)
{
    *out = NULL;
    struct watch *w = calloc(1, sizeof *w);
    if (!w) {
        return GPUFL_ERR_NOMEM;
    }
    w->log = log;
    w->nap_ms = nap_ms;
    w->places.shares.limit = max;
    w->wake = wake;
    w->arg = arg;
    pthread_mutex_init(&w->lock, NULL);
    watch_hints_init(&w->hints);
    if (pthread_create(&w->thread, NULL, watch_run, w) != 0) {
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
    pthread_join(w->thread, NULL);
    watch_places_free(&w->places);
    watch_place_list_free(w->requests);
    inotifytools_cleanup(); /* the watches go with the descriptor */
    watch_hints_fini(&w->hints);
    pthread_mutex_destroy(&w->lock);
    free(w);
}
