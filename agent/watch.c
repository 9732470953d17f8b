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
#include <time.h>

#include "schema/layout.h"

#define SESSION_EVENTS                                                                   \
    (IN_MODIFY | IN_CLOSE_WRITE | IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM |              \
     IN_DELETE_SELF | IN_DONT_FOLLOW | IN_ONLYDIR)
#define ROOT_EVENTS (IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_DONT_FOLLOW | IN_ONLYDIR)
#define HINTS_MAX   512u
#define WAIT_S      1

/* A watched directory; `wd` -1 = asked for, not yet watched. */
struct place {
    struct place *next;
    int wd;
    unsigned root;
    bool done;
    const char *root_path; /* the engine's */
    char session[];        /* below it; "" for the root itself */
};

struct watch {
    const struct log *log;
    uint64_t nap_ms;
    void (*wake)(void *arg);
    void *arg;
    pthread_t thread;
    _Atomic bool stopping;
    _Atomic bool overflowed;
    _Atomic bool incomplete;
    pthread_mutex_t lock; /* guards asked, hint, hints */
    struct place *asked;
    struct place **asked_last; /* where the next one goes, when there is one */
    struct watch_hint hint[HINTS_MAX];
    size_t hints;
    struct place *places; /* the thread's own */
};

bool watch_init(void)
{
    return inotifytools_initialize() != 0;
}

/* ---- hints ---- */

static void add_hint(struct watch *w, unsigned root, const char *session)
{
    pthread_mutex_lock(&w->lock);
    bool known = false;
    for (size_t i = w->hints; i > 0 && !known; i--) {
        known =
            w->hint[i - 1].root == root && strcmp(w->hint[i - 1].session, session) == 0;
    }
    if (!known && w->hints < HINTS_MAX) {
        w->hint[w->hints].root = root;
        snprintf(w->hint[w->hints++].session, sizeof w->hint[0].session, "%s", session);
    } else if (!known) {
        atomic_store_explicit(&w->overflowed, true, memory_order_relaxed);
    }
    pthread_mutex_unlock(&w->lock);
}

bool watch_next(struct watch *w, struct watch_hint *hint)
{
    pthread_mutex_lock(&w->lock);
    bool any = w->hints > 0;
    if (any) {
        *hint = w->hint[--w->hints];
    }
    pthread_mutex_unlock(&w->lock);
    return any;
}

bool watch_overflowed(struct watch *w)
{
    return atomic_exchange_explicit(&w->overflowed, false, memory_order_relaxed);
}

bool watch_incomplete(const struct watch *w)
{
    return atomic_load_explicit(&w->incomplete, memory_order_relaxed);
}

/* ---- places ---- */

static struct place *make_place(unsigned root, const char *root_path, const char *session,
                                bool done)
{
    size_t len = strlen(session) + 1;
    struct place *p = malloc(sizeof *p + len);
    if (p) {
        *p = (struct place){.wd = -1, .root = root, .done = done, .root_path = root_path};
        memcpy(p->session, session, len);
    }
    return p;
}

void watch_want(struct watch *w, unsigned root, const char *root_path,
                const char *session, bool done)
{
    struct place *p = make_place(root, root_path, session, done);
    if (p) {
        pthread_mutex_lock(&w->lock);
        *(w->asked ? w->asked_last : &w->asked) = p; /* in order: the last word counts */
        w->asked_last = &p->next;
        pthread_mutex_unlock(&w->lock);
    }
}

static struct place *place_of(struct watch *w, int wd)
{
    for (struct place *p = w->places; p; p = p->next) {
        if (p->wd == wd) {
            return p;
        }
    }
    return NULL;
}

static struct place **find_place(struct watch *w, const struct place *like)
{
    struct place **link = &w->places;
    while (*link && ((*link)->root != like->root ||
                     strcmp((*link)->session, like->session) != 0)) {
        link = &(*link)->next;
    }
    return link;
}

static void say_incomplete(struct watch *w, const char *path, int error)
{
    if (atomic_exchange_explicit(&w->incomplete, true, memory_order_relaxed)) {
        return;
    }
    log_warn(w->log, "watch.incomplete", "path=%s reason=\"%s\" note=\"%s\"", path,
             error == ENOSPC ? "no inotify watch left" : strerror(error),
             error == ENOSPC ? "raise fs.inotify.max_user_watches; polling every second"
                             : "polling every second");
}

static void add_place(struct watch *w, struct place *p)
{
    /* Names are kept with the slash that the library adds to directories. */
    char path[PATH_MAX + LAYOUT_NAME_MAX];
    bool root = p->session[0] == '\0';
    snprintf(path, sizeof path - 1, "%s%s%s", p->root_path, root ? "" : "/", p->session);
    if (!inotifytools_watch_file(path, root ? ROOT_EVENTS : SESSION_EVENTS)) {
        int error = inotifytools_error();
        if (error != ENOENT && error != ENOTDIR) {
            say_incomplete(w, path, error);
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
    p->next = w->places;
    w->places = p;
    add_hint(w, p->root, p->session); /* what happened before the watch was there */
}

static void remove_place(struct place **link)
{
    struct place *p = *link;
    *link = p->next;
    if (p->wd >= 0) {
        inotifytools_remove_watch_by_wd(p->wd);
    }
    free(p);
}

static void serve_wishes(struct watch *w)
{
    bool added = false;
    pthread_mutex_lock(&w->lock);
    struct place *asked = w->asked;
    w->asked = NULL;
    pthread_mutex_unlock(&w->lock);
    while (asked) {
        struct place *p = asked;
        asked = p->next;
        struct place **known = find_place(w, p);
        if (p->done) {
            if (*known) {
                remove_place(known);
            }
            free(p);
        } else if (*known) {
            free(p);
        } else {
            add_place(w, p);
            added = true;
        }
    }
    if (added) {
        w->wake(w->arg);
    }
}

/* ---- events ---- */

/* A directory that appears in a root is watched at once, before anybody has looked at it.
 */
static void on_root_event(struct watch *w, const struct place *root,
                          const struct inotify_event *event)
{
    if ((event->mask & IN_ISDIR) && (event->mask & (IN_CREATE | IN_MOVED_TO)) &&
        event->len && layout_name_ok(event->name)) {
        struct place *p = make_place(root->root, root->root_path, event->name, false);
        if (p && !*find_place(w, p)) {
            add_place(w, p);
        } else {
            free(p);
        }
    }
    if (event->len && layout_name_ok(event->name)) {
        add_hint(w, root->root, "");
    }
}

static void on_event(struct watch *w, const struct inotify_event *event)
{
    if (event->mask & IN_Q_OVERFLOW) {
        atomic_store_explicit(&w->overflowed, true, memory_order_relaxed);
        return;
    }
    struct place *p = place_of(w, event->wd);
    if (!p) {
        return;
    }
    if (event->mask & IN_IGNORED) {
        struct place **link = find_place(w, p);
        p->wd = -1; /* the kernel has dropped it already */
        add_hint(w, p->root, "");
        remove_place(link);
    } else if (p->session[0]) {
        add_hint(w, p->root, p->session);
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

static void *run(void *arg)
{
    struct watch *w = arg;
    while (!atomic_load_explicit(&w->stopping, memory_order_relaxed)) {
        serve_wishes(w);
        const struct inotify_event *event = inotifytools_next_events(WAIT_S, 1);
        if (!event) {
            continue;
        }
        for (; event; event = inotifytools_next_events(0, 1)) {
            on_event(w, event);
        }
        w->wake(w->arg);
        /* Waking for each event would cost more than the events: gather some. */
        if (w->nap_ms) {
            nap(w->nap_ms);
        }
    }
    return NULL;
}

/* ---- life ---- */

gpufl_status watch_open(const struct log *log, uint64_t nap_ms, void (*wake)(void *arg),
                        void *arg, struct watch **out)
{
    *out = NULL;
    struct watch *w = calloc(1, sizeof *w);
    if (!w) {
        return GPUFL_ERR_NOMEM;
    }
    w->log = log;
    w->nap_ms = nap_ms;
    w->wake = wake;
    w->arg = arg;
    pthread_mutex_init(&w->lock, NULL);
    if (pthread_create(&w->thread, NULL, run, w) != 0) {
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
    while (w->places) {
        remove_place(&w->places);
    }
    while (w->asked) {
        struct place *p = w->asked;
        w->asked = p->next;
        free(p);
    }
    inotifytools_cleanup();
    pthread_mutex_destroy(&w->lock);
    free(w);
}
