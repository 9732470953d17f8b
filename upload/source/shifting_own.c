/* SPDX-License-Identifier: Apache-2.0 */
/* Walks through the files of a channel of the 1.1 layout as reading does, so that a
 * rotation in between does no harm: a file is known by its head and the bytes before. */
#include "upload/source/shifting_own.h"

#include <unistd.h>

#include "upload/source/tail.h"

/* A file that was renamed and compressed before anything was read of it may be one of
 * several that begin alike: from the beginning. */
#define TRIES 4u

static struct tail_where own_where(const struct tail_where *where,
                                   struct shifting_own *own)
{
    struct tail_where w = *where;
    w.file = own->walk.file;
    w.offset = w.mark_at = own->walk.run.offset;
    w.mark = own->walk.run.mark;
    w.head = own->walk.at.head;
    w.index = own->walk.at.index;
    w.known = &own->walk.at.known;
    w.damaged = NULL;
    w.tells_holes = true;
    return w;
}

static void own_from_first(struct shifting_own *own)
{
    struct shifting_own first = {
        .wanted = own->wanted, .tries = own->tries, .stamp = own->stamp};
    first.wanted.on = false;
    *own = first;
}

static enum shifting_owned own_again(struct shifting_own *own)
{
    own_from_first(own);
    return ++own->tries < TRIES ? SHIFTING_OWN_GOES_ON : SHIFTING_OWN_FAILED;
}

/* Whether it can be the file that has the number of the end. */
static bool own_fits(const struct sys *sys, const struct tail_where *where,
                     const struct shifting_own *own, bool *later)
{
    struct shifting_own found = {.walk = own->found};
    struct tail_where w = own_where(where, &found);
    w.file = own->wanted.file;
    return !shifting_is_doubtful(sys, &w, w.index, later);
}

static enum shifting_owned own_over(const struct sys *sys, const struct tail_where *where,
                                    struct shifting_own *own)
{
    if (own->wanted.on) { /* the backend has something else behind it */
        own_from_first(own);
        return SHIFTING_OWN_GOES_ON;
    }
    bool later = false;
    bool one = own->alike == 1 && own_fits(sys, where, own, &later);
    return later        ? SHIFTING_OWN_GOES_ON
           : one        ? SHIFTING_OWN_FOUND
           : own->alike ? SHIFTING_OWN_SEVERAL
                        : SHIFTING_OWN_NONE;
}

static void own_begin_file(struct shifting_own *own, const struct shifting_place *place)
{
    own->walk = (struct shifting_walk){.at = *place,
                                       .file = own->walk.file + place->skipped + 1,
                                       .run = {.crc = own->walk.run.crc}};
    own->compared = false;
}

static enum shifting_owned own_first(const struct sys *sys,
                                     const struct tail_where *where, uint32_t highest,
                                     struct shifting_own *own)
{
    struct shifting_place place;
    gpufl_status status = shifting_first(sys, where, highest, &place);
    if (status == GPUFL_OK) {
        own->begins = place.begins;
        own_begin_file(own, &place);
        return SHIFTING_OWN_GOES_ON;
    }
    return status == GPUFL_ERR_NOT_FOUND ? own_over(sys, where, own)
                                         : SHIFTING_OWN_FAILED;
}

static bool own_is_still_there(const struct sys *sys, const struct tail_where *w)
{
    bool gz;
    int fd;
    uint32_t index;
    if (shifting_open(sys, w, &fd, &gz, &index) != GPUFL_OK) {
        return false;
    }
    close(fd);
    return true;
}

/* One that cannot be read, or has no line, is passed over: the rest may follow it. */
static enum shifting_owned own_next(const struct sys *sys, const struct tail_where *where,
                                    uint32_t highest, struct shifting_own *own)
{
    struct tail_where w = own_where(where, own);
    struct shifting_place place;
    gpufl_status status = shifting_next(sys, &w, &place);
    if (status == GPUFL_ERR_FORMAT) {
        own->broken = true;
        status = shifting_skip(sys, &w, highest, &place);
    }
    if (status == GPUFL_OK) {
        own_begin_file(own, &place);
        return SHIFTING_OWN_GOES_ON;
    }
    if (status == GPUFL_BUSY) {
        return SHIFTING_OWN_GOES_ON;
    }
    if (status != GPUFL_ERR_NOT_FOUND) {
        return SHIFTING_OWN_FAILED;
    }
    return own_is_still_there(sys, &w) ? own_over(sys, where, own) : own_again(own);
}

/* At the offset that is looked for. \return whether it is this file for sure. */
static bool own_compare(struct shifting_own *own)
{
    const struct shifting_wanted *wanted = &own->wanted;
    own->compared = true;
    if (own->walk.run.file_crc != wanted->file_crc) {
        return false;
    }
    own->alike++;
    own->found = own->walk;
    return (wanted->in_order || wanted->on) && !own->broken &&
           own->walk.run.crc == wanted->crc;
}

static enum shifting_owned own_read(const struct sys *sys, const struct tail_where *where,
                                    uint32_t highest, char *buf, size_t cap,
                                    struct shifting_own *own)
{
    struct tail_where w = own_where(where, own);
    struct tail_chunk chunk;
    uint64_t left =
        own->compared ? UINT64_MAX : own->wanted.offset - own->walk.run.offset;
    gpufl_status status =
        tail_read(sys, &w, buf, left < cap ? (size_t)left : cap, &chunk);
    if (status == GPUFL_BUSY) {
        return SHIFTING_OWN_GOES_ON;
    }
    if (chunk.elsewhere || chunk.away) {
        return SHIFTING_OWN_AWAY;
    }
    if (status == GPUFL_ERR_NOT_FOUND) {
        return own_again(own);
    }
    if (status == GPUFL_ERR_FORMAT) {
        own->broken = true;
        return own_next(sys, where, highest, own);
    }
    if (status != GPUFL_OK) {
        return SHIFTING_OWN_FAILED;
    }
    own->walk.at.index = chunk.index;
    own->read += chunk.len;
    uint64_t there = chunk.len + chunk.hole; /* one of them is 0 */
    file_run_add(&own->walk.run, chunk.hole ? NULL : buf, there < left ? there : left);
    bool more = !chunk.at_end || there > left;
    bool reached = !own->compared && own->walk.run.offset == own->wanted.offset;
    return more || reached ? SHIFTING_OWN_GOES_ON : own_next(sys, where, highest, own);
}

enum shifting_owned shifting_own_step(const struct sys *sys,
                                      const struct tail_where *where, uint32_t highest,
                                      char *buf, size_t cap, struct shifting_own *own)
{
    own->read = 0;
    if (own->walk.file == 0) {
        return own_first(sys, where, highest, own);
    }
    if (!own->compared && own->walk.run.offset == own->wanted.offset &&
        own_compare(own)) {
        return SHIFTING_OWN_FOUND;
    }
    own->compared = own->compared || own->walk.run.offset > own->wanted.offset;
    if (own->compared && !own->wanted.in_order && !own->wanted.on) {
        return own_next(sys, where, highest, own); /* its rest says nothing */
    }
    return own_read(sys, where, highest, buf, cap, own);
}
