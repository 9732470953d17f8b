/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the sessions of a root and orders them by the time of their first record. */
#include "upload/source/select.h"
#include "upload/source/listing.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/process_identity.h"
#include "upload/source/shifting.h"
#include "upload/source/tail.h"

/* job_start is the first line and takes about 6 KiB with eight GPUs. */
#define HEAD_BYTES 65536u

/* The first bytes of the channel's oldest file. */
static size_t read_oldest(const struct sys *sys, const struct tail_where *where,
                          uint32_t highest, char *buf)
{
    struct tail_where at = *where;
    struct tail_chunk chunk = {0};
    struct shifting_place place;
    bool gz;
    int fd;
    if (at.layout == SESSION_SHIFTING) {
        if (shifting_first(sys, &at, highest, &place) != GPUFL_OK) {
            return 0;
        }
        at.head = place.head;
        at.index = place.index;
    }
    if (at.layout != SESSION_WINDOWS) {
        return tail_read(sys, &at, buf, HEAD_BYTES, &chunk) == GPUFL_OK ? chunk.len : 0;
    }
    if (tail_open_window(sys, &at, &fd, &gz) != GPUFL_OK) {
        return 0;
    }
    struct gz_cache once = {0};
    size_t len = 0;
    gpufl_status status = gz_cache_read(&once, fd, 0, buf, HEAD_BYTES, &len);
    gz_cache_close(&once);
    close(fd);
    return status == GPUFL_OK ? len : 0;
}

static int64_t session_start_of(const struct sys *sys, int root, const char *path,
                                const struct scan *scan)
{
    char *buf = malloc(HEAD_BYTES);
    int64_t start_ns = 0;
    for (unsigned i = 0; buf && i < scan->channels && start_ns == 0; i++) {
        const struct scan_channel *channel = &scan->channel[i];
        struct tail_where where = {.root = root,
                                   .path = path,
                                   .channel = channel->name,
                                   .layout = scan->layout,
                                   .file = channel->lowest ? channel->lowest : 1};
        size_t len = read_oldest(sys, &where, channel->highest, buf);
        if (!identity_job_start_ns(buf, len, &start_ns)) {
            start_ns = 0;
        }
    }
    free(buf);
    return start_ns;
}

static uint64_t session_bytes_of(const struct scan *scan)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < scan->channels; i++) {
        bytes += scan->channel[i].active_bytes + scan->channel[i].numbered_bytes;
    }
    return bytes;
}

struct selecting {
    const struct sys *sys;
    int root;
    const char *group;
    struct selection *out;
    gpufl_status status;
};

static bool is_own(const struct scan *scan)
{
    const struct manifest *m = &scan->manifest;
    struct process_identity self;
    struct process_identity writer = {.pid = m->pid};
    if (scan->manifest_state != SCAN_MANIFEST_VALID || m->pid_namespace <= 0 ||
        m->pid_start_ticks <= 0) {
        return false;
    }
    process_identity_read(&self);
    writer.pid_namespace = (uint64_t)m->pid_namespace;
    writer.start_ticks = (uint64_t)m->pid_start_ticks;
    snprintf(writer.boot_id, sizeof writer.boot_id, "%s", m->boot_id);
    return process_identity_same(&self, &writer);
}

static void add_selected(struct selecting *l, const char *path, const struct scan *scan)
{
    struct selection *out = l->out;
    struct stat st;
    struct selected *more =
        array_grown(out->session, out->count, &out->cap, sizeof *more);
    if (!more) {
        l->status = GPUFL_ERR_NOMEM;
        return;
    }
    out->session = more;
    struct selected *s = &more[out->count++];
    snprintf(s->path, sizeof s->path, "%s", path);
    s->start_ns = session_start_of(l->sys, l->root, path, scan);
    s->bytes = session_bytes_of(scan);
    s->ours = is_own(scan);
    s->own_user =
        fstatat(l->root, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid == geteuid();
}

static void visit_session(void *arg, const char *name)
{
    struct selecting *l = arg;
    char path[JOURNAL_PATH_MAX];
    struct scan scan;
    snprintf(path, sizeof path, "%s%s%s", l->group, l->group[0] ? "/" : "", name);
    gpufl_status status = scan_session(l->sys, l->root, path, name, &scan);
    if (status != GPUFL_ERR_NOT_FOUND) { /* what cannot be read may be one */
        add_selected(l, path, &scan);
    }
    if (!l->group[0]) { /* a session may have others in it, whatever made it one */
        struct selecting inner = *l;
        inner.group = name;
        if (listing_each_dir(l->sys, l->root, name, visit_session, &inner) == GPUFL_OK) {
            l->status = inner.status;
        }
    }
}

static int by_start_and_path(const void *left, const void *right)
{
    const struct selected *a = left;
    const struct selected *b = right;
    if (a->start_ns != b->start_ns) {
        return a->start_ns < b->start_ns ? -1 : 1;
    }
    return strcmp(a->path, b->path);
}

static void set_ids(struct selection *selection)
{
    for (size_t i = 0; i < selection->count; i++) {
        struct selected *s = &selection->session[i];
        const char *slash = strrchr(s->path, '/');
        s->id = slash ? slash + 1 : s->path;
    }
}

gpufl_status select_list(const struct sys *sys, int root, struct selection *out)
{
    *out = (struct selection){0};
    struct selecting listing = {.sys = sys, .root = root, .group = "", .out = out};
    gpufl_status status = listing_each_dir(sys, root, ".", visit_session, &listing);
    if (status == GPUFL_OK) {
        status = listing.status;
    }
    if (status != GPUFL_OK) {
        select_free(out);
        return status;
    }
    if (out->count > 1) {
        qsort(out->session, out->count, sizeof *out->session, by_start_and_path);
    }
    set_ids(out);
    return GPUFL_OK;
}

gpufl_status select_one(struct selection *selection, const char *id)
{
    bool any_ours = false;
    for (size_t i = 0; i < selection->count; i++) {
        any_ours = any_ours || selection->session[i].ours;
    }
    const struct selected *one = NULL;
    for (size_t i = selection->count; i-- > 0;) {
        const struct selected *s = &selection->session[i];
        bool wanted = *id ? strcmp(s->id, id) == 0 : s->ours || !any_ours;
        if (wanted && (!one || (*id && s->own_user && !one->own_user))) {
            one = s;
        }
    }
    if (!one) {
        return GPUFL_ERR_NOT_FOUND;
    }
    selection->session[0] = *one;
    selection->count = 1;
    set_ids(selection);
    return GPUFL_OK;
}

bool select_has(const struct selection *selection, const char *id)
{
    for (size_t i = 0; i < selection->count; i++) {
        if (strcmp(selection->session[i].id, id) == 0) {
            return true;
        }
    }
    return false;
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
        set_ids(into);
    }
    select_free(from);
    return status;
}

void select_free(struct selection *selection)
{
    free(selection->session);
    *selection = (struct selection){0};
}
