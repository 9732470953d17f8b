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

#include "base/hash.h"
#include "schema/layout.h"

#define SESSION_EVENTS                                                                   \
    (IN_MODIFY | IN_CLOSE_WRITE | IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM |              \
     IN_DELETE_SELF | IN_DONT_FOLLOW | IN_ONLYDIR)
#define ROOT_EVENTS (IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_DONT_FOLLOW | IN_ONLYDIR)
#define HINTS_MAX   4096u
#define BUCKETS     1024u
#define WAIT_S      1

/* A watched directory; `wd` -1 = asked for, not yet watched. */
struct place {
    struct place *next; /* among those asked for; then in by_name */
    struct place *next_by_wd;
    int wd;
    unsigned root;
    bool done;
    uint64_t wakeup_round; /* the round in which it got a hint … */
    size_t hint;           /* … and which */
    const char *root_path; /* the engine's */
    char session[];        /* below it; "" for the root itself */
};

/* Hints are gathered in one half while the engine's thread works through the other. */
struct hints {
    struct watch_hint hint[HINTS_MAX];
    size_t count;
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
    pthread_mutex_t lock; /* guards asked and hints */
    struct place *asked;
    struct place **asked_last; /* where the next one goes, when there is one */
    struct hints half[2];
    uint64_t round;                 /* its last bit says which half is gathered in */
    struct place *by_name[BUCKETS]; /* the thread's own, as the next */
    struct place *by_wd[BUCKETS];
};

bool watch_init(void)
{
    return inotifytools_initialize() != 0;
}

/* ---- hints ---- */

/* What a place's hint of this round says when another thing happens there. */
static void join_hint(struct watch_hint *hint, enum watch_what what, const char *file)
{
    if (what > hint->what) {
        hint->what = what;
    }
    if (strcmp(hint->file, file) != 0) {
        hint->file[0] = '\0';
    }
}

/* \p p NULL: a directory that is not watched. */
static void add_hint(struct watch *w, struct place *p, unsigned root, const char *session,
                     enum watch_what what, const char *file)
{
    pthread_mutex_lock(&w->lock);
    struct hints *half = &w->half[w->round & 1];
    if (p && p->wakeup_round == w->round) {
        join_hint(&half->hint[p->hint], what, file);
    } else if (half->count < HINTS_MAX) {
        struct watch_hint *hint = &half->hint[half->count];
        hint->root = root;
        hint->what = what;
        snprintf(hint->file, sizeof hint->file, "%s", file);
        snprintf(hint->session, sizeof hint->session, "%s", session);
        if (p) {
            p->wakeup_round = w->round;
            p->hint = half->count;
        }
        half->count++;
    } else {
        atomic_store_explicit(&w->overflowed, true, memory_order_relaxed);
    }
    pthread_mutex_unlock(&w->lock);
}

size_t watch_take(struct watch *w, const struct watch_hint **first)
{
    pthread_mutex_lock(&w->lock);
    const struct hints *half = &w->half[w->round & 1];
    w->round++;
    w->half[w->round & 1].count = 0;
    pthread_mutex_unlock(&w->lock);
    *first = half->hint;
    return half->count;
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

static struct place **wd_bucket(struct watch *w, int wd)
{
    return &w->by_wd[(unsigned)wd % BUCKETS];
}

static struct place *place_of(struct watch *w, int wd)
{
    struct place *p = *wd_bucket(w, wd);
    while (p && p->wd != wd) {
        p = p->next_by_wd;
    }
    return p;
}

/* Where the place of that name hangs, or would. */
static struct place **find_place(struct watch *w, unsigned root, const char *session)
{
    struct place **link = &w->by_name[hash_text(root, session) % BUCKETS];
    while (*link && ((*link)->root != root || strcmp((*link)->session, session) != 0)) {
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
    struct place **name = find_place(w, p->root, p->session);
    struct place **wd = wd_bucket(w, p->wd);
    p->next = *name;
    *name = p;
    p->next_by_wd = *wd;
    *wd = p;
    /* What happened before the watch was there. */
    add_hint(w, p, p->root, p->session, HINT_CHANGED, "");
}

/* With \p unwatch, the kernel's watch goes, too. */
static void remove_place(struct watch *w, struct place **link, bool unwatch)
{
    struct place *p = *link;
    struct place **wd = wd_bucket(w, p->wd);
    while (*wd != p) {
        wd = &(*wd)->next_by_wd;
    }
    *wd = p->next_by_wd;
    *link = p->next;
    if (unwatch) {
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
        struct place **known = find_place(w, p->root, p->session);
        if (!p->done && !*known) {
            add_place(w, p);
            added = true;
            continue;
        }
        if (p->done && *known) {
            remove_place(w, known, true);
        }
        free(p);
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
    if (!(event->mask & IN_ISDIR) || !event->len || !layout_name_ok(event->name)) {
        return;
    }
    struct place **known = find_place(w, root->root, event->name);
    if (!*known && (event->mask & (IN_CREATE | IN_MOVED_TO))) {
        struct place *p = make_place(root->root, root->root_path, event->name, false);
        if (p) {
            add_place(w, p); /* with a hint */
        }
    } else {
        add_hint(w, *known, root->root, event->name, HINT_CHANGED, "");
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
    if (event->mask & IN_IGNORED) { /* the kernel has dropped it already */
        add_hint(w, p, p->root, p->session, HINT_UNWATCHED, "");
        remove_place(w, find_place(w, p->root, p->session), false);
    } else if (p->session[0] && event->mask == IN_MODIFY) {
        add_hint(w, p, p->root, p->session, HINT_GREW, event->len ? event->name : "");
    } else if (p->session[0]) {
        add_hint(w, p, p->root, p->session, HINT_CHANGED, "");
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
    w->round = 1; /* 0 = a place's that had no hint */
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

static void free_places(struct place *first)
{
    while (first) {
        struct place *p = first;
        first = p->next;
        free(p);
    }
}

void watch_close(struct watch *w)
{
    if (!w) {
        return;
    }
    atomic_store_explicit(&w->stopping, true, memory_order_relaxed);
    pthread_join(w->thread, NULL);
    for (size_t i = 0; i < BUCKETS; i++) {
        free_places(w->by_name[i]);
    }
    free_places(w->asked);
    inotifytools_cleanup(); /* the watches go with the descriptor */
    pthread_mutex_destroy(&w->lock);
    free(w);
}
