/* SPDX-License-Identifier: Apache-2.0 */
/* Notes sealed files and recognises them by the bytes before their end. */
#include "upload/lifecycle/sealed_file.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "upload/core/position.h"

/* \p number 0 = the active file. */
static int sealed_file_open(const struct stream *st, uint32_t number)
{
    const struct tail_where where = stream_where(st);
    char name[LAYOUT_PATH_MAX];
    if (number) {
        layout_numbered(name, stream_channel(st), number, false);
    } else {
        layout_active(name, stream_channel(st), false);
    }
    return tail_where_open(st->session->root->engine->config.sys, &where, name);
}

/* What cannot be journalled now is in the next rewrite of the journal. */
static void sealed_file_set(struct stream *st, const struct record_sealed *sealed)
{
    st->sealed = *sealed;
    st->sealed.stream = st->id;
    if (st->id) {
        (void)!record_append_sealed(st->session->root->journal, &st->sealed);
    }
}

static void sealed_file_read(struct stream *st, uint32_t number)
{
    const struct sys *sys = st->session->root->engine->config.sys;
    struct record_sealed sealed = {.file = number};
    struct stat is;
    int fd = number ? sealed_file_open(st, number) : -1;
    if (fd >= 0 && fstat(fd, &is) == 0) {
        sealed.bytes = (uint64_t)is.st_size;
        sealed.mark = file_mark_read(sys, fd, sealed.bytes);
    }
    if (fd >= 0) {
        close(fd);
    }
    if (!number || sealed.mark.bytes) {
        sealed_file_set(st, &sealed); /* else at the next look */
    }
}

/* A writer that cannot open the next file renames the sealed one back, and appends. */
static bool sealed_file_was_taken_back(const struct stream *st)
{
    const struct sys *sys = st->session->root->engine->config.sys;
    int fd = st->sealed.mark.bytes ? sealed_file_open(st, 0) : -1;
    bool same = fd >= 0 && file_mark_match(sys, fd, false, &st->sealed.mark,
                                           st->sealed.bytes) == FILE_MATCHES;
    if (fd >= 0) {
        close(fd);
    }
    return same;
}

/* Windows have their numbers for good. Of those that an earlier backend got, session.c
 * tells which this one lacks. */
static uint32_t sealed_file_note_window(struct stream *st, uint32_t highest)
{
    if (highest > st->sealed.file) {
        sealed_file_set(st, &(struct record_sealed){.file = highest});
    }
    return st->sealed.file < st->reached_file ? highest : st->sealed.file;
}

uint32_t sealed_file_note(struct stream *st, uint32_t highest)
{
    if (st->session->layout == SESSION_WINDOWS) {
        return sealed_file_note_window(st, highest);
    }
    if (st->session->layout != SESSION_LIVE || highest == st->sealed.file) {
        return highest;
    }
    if (highest > st->sealed.file || sealed_file_was_taken_back(st)) {
        sealed_file_read(st, highest);
        return highest;
    }
    return st->sealed.file;
}

bool sealed_file_find(struct stream *st)
{
    const struct sys *sys = st->session->root->engine->config.sys;
    for (uint32_t n = st->file + 1; st->mark.bytes && n <= st->highest; n++) {
        int fd = sealed_file_open(st, n);
        bool same = fd >= 0 && file_mark_match(sys, fd, false, &st->mark, st->offset) ==
                                   FILE_MATCHES;
        if (fd >= 0) {
            close(fd);
        }
        if (same) {
            st->file = n;
            return true;
        }
    }
    return false;
}
