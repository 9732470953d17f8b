/* SPDX-License-Identifier: Apache-2.0 */
/* Notes sealed files and recognises them by the bytes before their end. */
#include "upload/lifecycle/sealed_file.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "upload/core/position.h"
#include "upload/source/file_number.h"
#include "upload/source/scan.h"

/* \p number 0 = the active file. */
static int sealed_file_open(const struct stream *st, uint32_t number, bool *gz)
{
    const struct tail_where where = stream_where(st);
    return tail_where_open_either(st->session->root->engine->config.sys, &where, number,
                                  gz);
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

/* The mark of one that was compressed is known once it is read. */
static void sealed_file_read(struct stream *st, uint32_t number)
{
    const struct sys *sys = st->session->root->engine->config.sys;
    struct record_sealed sealed = {.file = number};
    struct stat is;
    bool gz = false;
    int fd = number ? sealed_file_open(st, number, &gz) : -1;
    if (fd >= 0 && !gz && fstat(fd, &is) == 0) {
        sealed.bytes = (uint64_t)is.st_size;
        sealed.mark = file_mark_read(sys, fd, sealed.bytes);
    }
    if (fd >= 0) {
        close(fd);
    }
    if (!number || sealed.mark.bytes || (fd >= 0 && gz)) {
        sealed_file_set(st, &sealed); /* else at the next look */
    }
}

/* \p number 0 = the active file. \return true if \p mark is that of its bytes before \p
 * at. */
static bool sealed_file_holds(const struct stream *st, uint32_t number,
                              const struct record_mark *mark, uint64_t at)
{
    const struct sys *sys = st->session->root->engine->config.sys;
    bool gz = false;
    int fd = mark->bytes ? sealed_file_open(st, number, &gz) : -1;
    bool holds = fd >= 0 && file_mark_match(sys, fd, gz, mark, at) == FILE_MATCHES;
    if (fd >= 0) {
        close(fd);
    }
    return holds;
}

void sealed_file_sent(struct stream *st)
{
    if (st->sealed.file == st->file && st->mark.bytes && st->sealed.bytes != st->offset) {
        sealed_file_set(st, &(struct record_sealed){
                                .file = st->file, .bytes = st->offset, .mark = st->mark});
    }
}

/* A writer that cannot open the next file renames the sealed one back, and appends. */
static bool sealed_file_was_taken_back(const struct stream *st)
{
    bool behind = st->file > st->sealed.file && st->offset; /* the next one was begun */
    return !behind && sealed_file_holds(st, 0, &st->sealed.mark, st->sealed.bytes);
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

struct sealed_search {
    const struct stream *stream;
    const struct tail_where *where;
};

static bool sealed_file_is_sought(const void *arg, uint32_t number)
{
    const struct sealed_search *search = arg;
    return number <= search->stream->highest &&
           sealed_file_holds(search->stream, number, &search->where->mark,
                             search->where->mark_at);
}

/* \return the number of the sealed file after \p where that holds it, 0 = none does.
 * Numbers are taken from a listing: anyone can make a file of the highest one. */
static uint32_t sealed_file_numbered(const struct stream *st,
                                     const struct tail_where *where)
{
    const struct sealed_search search = {.stream = st, .where = where};
    const struct scan_files_of files = {.sys = st->session->root->engine->config.sys,
                                        .root = where->root,
                                        .path = where->path,
                                        .channel = where->channel,
                                        .accepts = sealed_file_is_sought,
                                        .arg = &search};
    return where->mark.bytes ? file_number_next(&files, where->file) : 0;
}

bool sealed_file_find(struct stream *st)
{
    const struct tail_where where = stream_where(st);
    uint32_t number = sealed_file_numbered(st, &where);
    st->file = number ? number : st->file;
    return number != 0;
}

uint32_t sealed_file_after(const struct stream *st, const struct tail_where *where)
{
    if (st->session->layout != SESSION_LIVE || where->file > st->highest) {
        return 0;
    }
    uint32_t number = sealed_file_numbered(st, where);
    bool active = !number && sealed_file_holds(st, 0, &where->mark, where->mark_at);
    return active ? st->highest + 1 : number;
}

bool sealed_file_is_late(const struct stream *st)
{
    const struct tail_where where = stream_where(st);
    return sealed_file_after(st, &where) != 0;
}

enum sealed_copy sealed_file_copy(const struct stream *st)
{
    bool gz = false;
    if (stream_is_earlier_copy(st) || !stream_may_be_earlier_copy(st)) {
        return stream_is_earlier_copy(st) ? SEALED_COPY : SEALED_COPY_NOT;
    }
    bool newest = st->sealed.file == st->there_highest + 1 && st->sealed.mark.bytes;
    int fd = newest ? sealed_file_open(st, 0, &gz) : -1;
    if (fd < 0) {
        return SEALED_COPY_MAYBE;
    }
    enum file_match match = file_mark_match(st->session->root->engine->config.sys, fd, gz,
                                            &st->sealed.mark, st->sealed.bytes);
    close(fd);
    return match == FILE_MATCHES   ? SEALED_COPY
           : match == FILE_DIFFERS ? SEALED_COPY_NOT
                                   : SEALED_COPY_MAYBE;
}

enum held_reason sealed_file_or_copy(const struct stream *st, enum held_reason reason)
{
    bool other = reason == HELD_OTHER || reason == HELD_MISSING;
    return other && sealed_file_copy(st) == SEALED_COPY_MAYBE ? HELD_EARLIER : reason;
}
