/* SPDX-License-Identifier: Apache-2.0 */
/* Notes sealed files and recognises them by the bytes before their end. */
#include "upload/lifecycle/sealed_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "upload/core/position.h"
#include "upload/core/ranges.h"
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
    uint32_t deleted = st->sealed.deleted;
    st->sealed = *sealed;
    st->sealed.stream = st->id;
    st->sealed.deleted = deleted;
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

/* What is searched beside the file that is read has decoders of its own. */
static enum file_match sealed_file_match_at(const struct stream *st, int fd, bool gz,
                                            const struct record_mark *mark, uint64_t at)
{
    struct engine *engine = st->session->root->engine;
    struct gz_cache *cache =
        gz_cache_for(&engine->gz, session_lane(st->session), &st->sealed);
    return file_mark_match(engine->config.sys, fd, gz ? cache : NULL, mark, at);
}

/* \p number 0 = the active file. \return FILE_MATCHES if \p mark is that of its bytes
 * before \p at; FILE_UNREADABLE also if there is none. */
static enum file_match sealed_file_match(const struct stream *st, uint32_t number,
                                         const struct record_mark *mark, uint64_t at)
{
    bool gz = false;
    int fd = mark->bytes ? sealed_file_open(st, number, &gz) : -1;
    if (fd < 0) {
        return FILE_UNREADABLE;
    }
    enum file_match match = sealed_file_match_at(st, fd, gz, mark, at);
    close(fd);
    return match;
}

void sealed_file_sent(struct stream *st)
{
    bool noted = st->sealed.file == st->file && st->sealed.bytes == st->offset;
    bool known = st->sealed.file == st->file || st->session->layout == SESSION_SHIFTING;
    if (known && !noted && st->mark.bytes) {
        sealed_file_set(st, &(struct record_sealed){
                                .file = st->file, .bytes = st->offset, .mark = st->mark});
    }
}

void sealed_file_deleted(struct stream *st, uint32_t number)
{
    const struct record_sealed sealed = st->sealed;
    st->sealed.deleted = number;
    sealed_file_set(st, &sealed);
}

bool sealed_file_is_there(const struct stream *st, uint32_t number)
{
    bool gz;
    int fd = sealed_file_open(st, number, &gz);
    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0;
}

void sealed_file_told(struct stream *st, uint32_t file)
{
    const struct root *root = st->session->root;
    uint32_t kept = file - 1;
    while ((kept = ranges_next_in(root, st->id, kept + 1)) &&
           kept <= st->sealed.deleted) {
        if (!sealed_file_is_there(st, kept)) {
            sealed_file_deleted(st, kept - 1);
        }
    }
}

/* A writer that cannot open the next file renames the sealed one back, and appends. It
 * restores one that another program has compressed under its number. */
static bool sealed_file_was_taken_back(const struct stream *st)
{
    bool behind = st->file > st->sealed.file && st->offset; /* the next one was begun */
    bool here = st->file == st->sealed.file && !st->sealed.mark.bytes;
    const struct record_mark *mark = here ? &st->mark : &st->sealed.mark;
    const uint64_t at = here ? st->offset : st->sealed.bytes;
    return !behind && sealed_file_match(st, 0, mark, at) == FILE_MATCHES;
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

/* The numbers are taken from a listing, as anyone can make a file of the highest one.
 * What a name in it costs, and what trying a file costs, as if so much were decoded. */
#define NAME_COST   512u
#define SOUGHT_COST (16u << 10)

static void sealed_file_sought(struct stream *st, enum file_match match)
{
    if (match != FILE_LATER) {
        free(st->sought.among);
        st->sought = (struct stream_sought){0};
    }
}

/* Goes on where another turn has left the search. \return false without memory. */
static bool sealed_file_seek(struct stream *st, const struct tail_where *where)
{
    struct stream_sought *s = &st->sought;
    if (s->among && s->file == where->file && s->at == where->mark_at &&
        s->mark.bytes == where->mark.bytes && s->mark.crc32 == where->mark.crc32) {
        return true;
    }
    sealed_file_sought(st, FILE_DIFFERS);
    *s = (struct stream_sought){.file = where->file,
                                .at = where->mark_at,
                                .mark = where->mark,
                                .among = calloc(1, sizeof *s->among)};
    if (s->among) {
        s->among->above = where->file;
        s->among->most = st->highest;
    }
    return s->among;
}

/* \return FILE_LATER if that is not known yet, else FILE_DIFFERS. */
static enum file_match sealed_file_list(struct stream *st, const struct tail_where *where)
{
    struct engine *engine = st->session->root->engine;
    const struct scan_files_of files = {.sys = engine->config.sys,
                                        .root = where->root,
                                        .path = where->path,
                                        .channel = where->channel};
    if (!sealed_file_seek(st, where)) {
        engine->gz.busy = true;
        return FILE_LATER;
    }
    while (!st->sought.among->over) {
        if (!gz_cache_spend(&engine->gz, (uint64_t)VISITS_STEP_NAMES * NAME_COST)) {
            return FILE_LATER;
        }
        file_numbers_list(&files, st->sought.among, VISITS_STEP_NAMES);
    }
    return FILE_DIFFERS;
}

/* Finds the sealed file after \p where that holds it. \return FILE_LATER if that is not
 * known yet. */
static enum file_match
sealed_file_numbered(struct stream *st, const struct tail_where *where, uint32_t *number)
{
    struct stream_sought *s = &st->sought;
    struct gz_cache *gz = &st->session->root->engine->gz;
    if (!where->mark.bytes || sealed_file_list(st, where) == FILE_LATER) {
        return where->mark.bytes ? FILE_LATER : FILE_DIFFERS;
    }
    for (; s->tried < s->among->count; s->tried++) {
        *number = s->among->number[s->tried];
        enum file_match match = gz_cache_spend(gz, SOUGHT_COST)
                                    ? sealed_file_match(st, *number, &s->mark, s->at)
                                    : FILE_LATER;
        if (match == FILE_MATCHES || match == FILE_LATER) {
            return match;
        }
    }
    return FILE_DIFFERS;
}

bool sealed_file_find(struct stream *st)
{
    const struct tail_where where = stream_where(st);
    uint32_t number;
    enum file_match match = sealed_file_numbered(st, &where, &number);
    sealed_file_sought(st, match);
    if (match == FILE_MATCHES && number != st->file) {
        st->file = number;
        st->jump = st->positions && st->end.at.file; /* its end has another name */
    }
    return match == FILE_MATCHES;
}

uint32_t sealed_file_after(struct stream *st, const struct tail_where *where)
{
    uint32_t number;
    if (st->session->layout != SESSION_LIVE || where->file > st->highest) {
        return 0;
    }
    enum file_match match = sealed_file_numbered(st, where, &number);
    if (match == FILE_DIFFERS) {
        match = sealed_file_match(st, 0, &where->mark, where->mark_at);
        number = st->highest + 1;
    }
    sealed_file_sought(st, match);
    return match == FILE_MATCHES ? number : 0;
}

bool sealed_file_is_late(struct stream *st)
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
    enum file_match match =
        sealed_file_match_at(st, fd, gz, &st->sealed.mark, st->sealed.bytes);
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

uint64_t sealed_file_jump_to(const struct stream *st)
{
    const struct stream_place *end = &st->end.at;
    bool may_be_sent = st->session->layout == SESSION_LIVE && end->file < st->file &&
                       end->file < st->lowest;
    return st->offset || !may_be_sent ? st->offset : end->offset;
}

void sealed_file_jumped(struct stream *st, const struct file_run *run)
{
    bool was_sent = !st->offset && run->offset == st->end.at.offset &&
                    run->file_crc == st->end.file_crc;
    if (was_sent) {
        position_begin_at(st, st->file, run->offset, 0);
        st->mark = run->mark;
    }
    st->jump_crc = st->offset ? run->file_crc : 0;
    st->jump_measured = true;
}
