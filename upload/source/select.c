/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the sessions of a root. What others leave there is read only if it is asked for:
 * anybody can make any number of directories in a directory that users share. */
#include "upload/source/select.h"
#include "upload/source/listing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/process_identity.h"
#include "upload/source/gz_cache.h"
#include "upload/source/scan_session.h"
#include "upload/source/tail_where.h"

/* job_start is the first line and takes about 6 KiB with eight GPUs. */
#define HEAD_BYTES 65536u

/* The first bytes of file \p number of a channel, 0 = the active one. */
static size_t read_first(const struct sys *sys, const struct tail_where *where,
                         uint32_t number, char *buf)
{
    struct gz_cache once = {0};
    ssize_t len = 0;
    bool gz;
    int fd = tail_where_open_either(sys, where, number, &gz);
    if (fd >= 0 && gz) {
        size_t got = 0;
        len = gz_cache_read(&once, fd, 0, buf, HEAD_BYTES, &got) == GPUFL_OK
                  ? (ssize_t)got
                  : 0;
        gz_cache_close(&once);
    } else if (fd >= 0) {
        len = file_pread_full(sys, fd, buf, HEAD_BYTES, 0);
    }
    if (fd >= 0) {
        close(fd);
    }
    return len > 0 ? (size_t)len : 0;
}

/* A rotation may raise the number of the oldest file of the 1.1 layout meanwhile. */
static bool channel_start(const struct sys *sys, const struct tail_where *where,
                          const struct scan_channel *channel, char *buf,
                          int64_t *start_ns)
{
    bool shifts = where->layout == SESSION_SHIFTING;
    uint32_t oldest = shifts ? channel->highest : channel->lowest;
    for (uint32_t more = 0; more <= (shifts ? 1 : 0); more++) {
        size_t len = read_first(sys, where, oldest + more, buf);
        if (identity_job_start_ns(buf, len, start_ns)) {
            return true;
        }
    }
    return false;
}

static int64_t session_start_of(const struct sys *sys, int root, const char *path,
                                const struct scan *scan)
{
    char *buf = malloc(HEAD_BYTES);
    int64_t start_ns = 0;
    bool found = false;
    for (unsigned i = 0; buf && i < scan->channels && !found; i++) {
        struct tail_where where = {.root = root,
                                   .path = path,
                                   .channel = scan->channel[i].name,
                                   .layout = scan->layout};
        found = channel_start(sys, &where, &scan->channel[i], buf, &start_ns);
    }
    free(buf);
    return found ? start_ns : 0;
}

static uint64_t session_bytes_of(const struct scan *scan)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < scan->channels; i++) {
        bytes += scan->channel[i].active_bytes + scan->channel[i].numbered_bytes;
    }
    return bytes;
}

static bool is_written_by(const struct process_identity *self, const struct scan *scan)
{
    const struct manifest *m = &scan->manifest;
    struct process_identity writer = {.pid = m->pid};
    if (scan->manifest_state != SCAN_MANIFEST_VALID || m->pid_namespace <= 0 ||
        m->pid_start_ticks <= 0) {
        return false;
    }
    writer.pid_namespace = (uint64_t)m->pid_namespace;
    writer.start_ticks = (uint64_t)m->pid_start_ticks;
    snprintf(writer.boot_id, sizeof writer.boot_id, "%s", m->boot_id);
    return process_identity_same(self, &writer);
}

static const char *id_in(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void set_ids(struct selection *selection)
{
    for (size_t i = 0; i < selection->count; i++) {
        selection->session[i].id = id_in(selection->session[i].path);
    }
}

static int by_id(const void *left, const void *right)
{
    const struct selected *a = left;
    const struct selected *b = right;
    int order = strcmp(id_in(a->path), id_in(b->path));
    return order ? order : strcmp(a->path, b->path);
}

static int by_start(const void *left, const void *right)
{
    const struct selected *a = left;
    const struct selected *b = right;
    if (a->own_user != b->own_user) {
        return a->own_user ? -1 : 1;
    }
    if (a->start_ns != b->start_ns) {
        return a->start_ns < b->start_ns ? -1 : 1;
    }
    return strcmp(a->path, b->path);
}

static void select_sort(struct selection *selection,
                        int (*order)(const void *, const void *))
{
    if (selection->count > 1) {
        qsort(selection->session, selection->count, sizeof *selection->session, order);
    }
    set_ids(selection);
}

/* The search for directories that may be sessions, by their names and owners alone. */
struct select_search {
    const struct sys *sys;
    int root;
    const char *group;
    const char
        *id; /**< only those of that name, or of that name in a group; NULL = all */
    struct selection *out;
    gpufl_status status;
};

static void search_add(struct select_search *search, const char *name)
{
    struct selection *out = search->out;
    struct stat st;
    char path[JOURNAL_PATH_MAX];
    snprintf(path, sizeof path, "%s%s%s", search->group, search->group[0] ? "/" : "",
             name);
    if (fstatat(search->root, path, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        if (errno == ENOENT) {
            return;
        }
        st.st_uid = (uid_t)-1;
    } else if (!S_ISDIR(st.st_mode)) {
        return;
    }
    struct selected *more =
        array_grown(out->session, out->count, &out->cap, sizeof *more);
    if (!more) {
        search->status = GPUFL_ERR_NOMEM;
        return;
    }
    out->session = more;
    more[out->count] =
        (struct selected){.user = st.st_uid, .own_user = st.st_uid == geteuid()};
    snprintf(more[out->count++].path, sizeof path, "%s", path);
}

/* \return what is looked for in the directory \p name; NULL = nothing. */
static const char *search_below(const char *id, const char *name)
{
    const char *slash = strchr(id, '/');
    size_t len = slash ? (size_t)(slash - id) : 0;
    bool of_this = !slash || (strlen(name) == len && memcmp(name, id, len) == 0);
    const char *below = slash ? slash + 1 : id;
    return of_this && layout_name_ok(below) ? below : NULL;
}

static void search_visit(void *arg, const char *name)
{
    struct select_search *search = arg;
    if (!search->id || strcmp(name, search->id) == 0) {
        search_add(search, name);
    }
    if (search->group[0]) {
        return;
    }
    struct select_search inner = *search; /* a session may have others in it */
    inner.group = name;
    const char *below = search->id ? search_below(search->id, name) : NULL;
    if (below) {
        search_add(&inner, below);
        search->status = inner.status;
    } else if (!search->id && listing_each_dir(search->sys, search->root, name,
                                               search_visit, &inner) == GPUFL_OK) {
        search->status = inner.status;
    }
}

gpufl_status select_find(const struct sys *sys, int root, const char *id,
                         struct selection *out)
{
    *out = (struct selection){0};
    struct select_search search = {
        .sys = sys, .root = root, .group = "", .id = id, .out = out};
    gpufl_status status = listing_each_dir(sys, root, ".", search_visit, &search);
    status = status == GPUFL_OK ? search.status : status;
    if (status != GPUFL_OK) {
        int error = errno;
        select_free(out);
        errno = error;
        return status;
    }
    select_sort(out, by_id);
    return GPUFL_OK;
}

/* What is read of the directories that were found. */
struct selecting {
    const struct sys *sys;
    int root;
    struct process_identity self;
    bool starts; /* when they began is wanted */
    struct selection *out;
};

static struct selecting selecting_of(const struct sys *sys, int root,
                                     struct selection *out)
{
    struct selecting l = {.sys = sys, .root = root, .out = out};
    process_identity_read(&l.self);
    select_sort(out, by_start); /* those of our own user come first */
    return l;
}

static size_t own_of(const struct selection *selection)
{
    size_t own = 0;
    while (own < selection->count && selection->session[own].own_user) {
        own++;
    }
    return own;
}

/* \return false if it is no session. */
static bool read_selected(const struct selecting *l, struct selected *s)
{
    struct scan scan;
    s->id = id_in(s->path);
    if (scan_session(l->sys, l->root, s->path, s->id, &scan) == GPUFL_ERR_NOT_FOUND) {
        return false; /* what cannot be read may be one */
    }
    s->bytes = session_bytes_of(&scan);
    s->ours = is_written_by(&l->self, &scan);
    s->start_ns = l->starts ? session_start_of(l->sys, l->root, s->path, &scan) : 0;
    return true;
}

/* Reads those from \p from up to \p to and drops what is no session.
 * \return how many of them are left. */
static size_t read_range(const struct selecting *l, size_t from, size_t to,
                         uint64_t deadline_ms)
{
    struct selection *out = l->out;
    size_t kept = from;
    size_t i = from;
    for (; i < to && (!deadline_ms || l->sys->now_ms() < deadline_ms); i++) {
        if (read_selected(l, &out->session[i])) {
            out->session[kept++] = out->session[i];
        }
    }
    out->unread += to - i;
    for (size_t next = to; kept < to && next < out->count; next++) {
        out->session[kept + (next - to)] = out->session[next];
    }
    out->count -= to - kept;
    return kept - from;
}

gpufl_status select_list(const struct sys *sys, int root, uint64_t deadline_ms,
                         struct selection *out)
{
    gpufl_status status = select_find(sys, root, NULL, out);
    if (status == GPUFL_OK) {
        const struct selecting l = selecting_of(sys, root, out);
        size_t own = read_range(&l, 0, own_of(out), 0);
        (void)read_range(&l, own, out->count, deadline_ms);
        select_sort(out, by_id);
    }
    return status;
}

void select_read_own(const struct sys *sys, int root, struct selection *selection)
{
    struct selecting l = selecting_of(sys, root, selection);
    l.starts = true;
    (void)read_range(&l, 0, own_of(selection), 0);
    select_sort(selection, by_start);
}

/* Those of this process come before others. */
static void keep_ours(struct selection *selection)
{
    size_t kept = 0;
    for (size_t i = 0; i < selection->count; i++) {
        if (selection->session[i].ours) {
            selection->session[kept++] = selection->session[i];
        }
    }
    selection->count = kept ? kept : selection->count;
}

gpufl_status select_one(const struct sys *sys, int root, const char *id,
                        struct selection *out)
{
    gpufl_status status = select_find(sys, root, *id ? id : NULL, out);
    if (status != GPUFL_OK) {
        return status;
    }
    struct selecting l = selecting_of(sys, root, out);
    l.starts = out->count > 1;
    size_t own = read_range(&l, 0, own_of(out), 0);
    bool ours = false;
    for (size_t i = 0; i < own; i++) {
        ours = ours || out->session[i].ours;
    }
    /* Without an id, root means the newest of all users. */
    if (ours || (own && (*id || geteuid() != 0))) {
        out->count = own;
    } else {
        (void)read_range(&l, own, out->count, 0);
    }
    keep_ours(out);
    if (out->count > 1) {
        for (size_t i = 0; i < out->count; i++) {
            out->session[i].own_user = false; /* by start alone */
        }
        select_sort(out, by_start);
        out->session[0] = out->session[out->count - 1];
    }
    if (out->count) {
        out->session[0].named = true;
        out->count = 1;
    }
    set_ids(out);
    return out->count ? GPUFL_OK : GPUFL_ERR_NOT_FOUND;
}

bool select_has(const struct selection *selection, const char *id)
{
    size_t low = 0;
    for (size_t high = selection->count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(selection->session[middle].id, id) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < selection->count && strcmp(selection->session[low].id, id) == 0;
}

gpufl_status select_join(struct selection *into, struct selection *from)
{
    struct selected *more =
        realloc(into->session, (into->count + from->count) * sizeof *more);
    gpufl_status status = more ? GPUFL_OK : GPUFL_ERR_NOMEM;
    if (more) {
        memcpy(more + into->count, from->session, from->count * sizeof *more);
        into->session = more;
        into->count += from->count;
        into->cap = into->count;
        select_sort(into, by_id);
    }
    select_free(from);
    return status;
}

void select_free(struct selection *selection)
{
    free(selection->session);
    *selection = (struct selection){0};
}
