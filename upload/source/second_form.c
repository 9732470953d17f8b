/* SPDX-License-Identifier: Apache-2.0 */
/* The compressed file is unpacked beside each other file of the channel up to the first
 * difference, which is in the first chunk unless somebody made them alike. */
#include "upload/source/second_form.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "schema/layout.h"
#include "upload/source/file_mark.h"
#include "upload/source/gz_cache.h"
#include "upload/source/gz_file.h"
#include "upload/source/listing.h"

#define COMPARE_BYTES (16u << 10)
/* Of all files together, beyond the first chunk of each. */
#define COMPARE_MAX (128ull << 20)
/* What a name in the directory costs. */
#define NAME_COST 256

/* What the comparison with one file has come to. */
struct second_compared {
    uint64_t at;
    size_t len;          /* that was read last */
    gpufl_status status; /* of the compressed file */
    bool same;
    bool cut;        /* it ends within a member */
    bool whole_line; /* half a line proves nothing, as records begin alike */
    bool in_line;    /* it ends within a line */
};

struct second_search {
    const struct sys *sys;
    int gz;
    int of; /* it may be the beginning of that one, -1 = of the next in the listing */
    bool of_is_gz;
    bool of_is_active;
    bool failed;           /* one of the two could not be read */
    bool compared;         /* what is left is to check the compressed file */
    enum second_form form; /* the greatest so far */
    uint64_t begun;    /* stands for the compressed and the active file at the begin */
    uint64_t begun_gz; /* for the compressed one */
    uint64_t compare_left;
    size_t check_left;
    struct gz_file *check;
    struct gz_cache own_cache;
    struct gz_cache of_cache;
    struct second_compared c;
    struct listing listing;
};

static uint64_t second_work(const struct second_search *s)
{
    return s->own_cache.work + s->of_cache.work;
}

/* \return the bytes at \p at; -1 if they cannot be read. */
static ssize_t second_read(struct second_search *s, uint64_t at, char *buf, size_t len)
{
    size_t got;
    if (!s->of_is_gz) {
        ssize_t n = file_pread_full(s->sys, s->of, buf, len, (off_t)at);
        s->failed = s->failed || n < 0;
        return n;
    }
    gpufl_status status = gz_cache_read(&s->of_cache, s->of, at, buf, len, &got);
    s->failed = s->failed || s->of_cache.failed;
    return status == GPUFL_OK ? (ssize_t)got : -1;
}

/* \return what it cost. */
static int64_t second_compare_chunk(struct second_search *s)
{
    char own[COMPARE_BYTES];
    char of[COMPARE_BYTES];
    struct second_compared *c = &s->c;
    uint64_t before = second_work(s);
    c->status = gz_cache_read(&s->own_cache, s->gz, c->at, own, sizeof own, &c->len);
    s->failed = s->failed || s->own_cache.failed;
    c->cut = s->own_cache.cut;
    c->same = !s->own_cache.plain &&
              second_read(s, c->at, of, c->len) == (ssize_t)c->len &&
              memcmp(own, of, c->len) == 0;
    c->whole_line = c->whole_line || memchr(own, '\n', c->len);
    c->in_line = c->len > 0 ? own[c->len - 1] != '\n' : c->in_line;
    uint64_t work = second_work(s) - before;
    uint64_t most = work / 2 > c->len ? work / 2 : c->len; /* of two files */
    if (c->at > 0) {
        s->compare_left -= most < s->compare_left ? most : s->compare_left;
    }
    c->at += c->len;
    return work > 2 * COMPARE_BYTES ? (int64_t)work : 2 * (int64_t)COMPARE_BYTES;
}

/* Goes on to the end of the compressed file, or to the first difference. \return true
 * once it is there. */
static bool second_compare(struct second_search *s, int64_t *budget)
{
    char byte;
    struct second_compared *c = &s->c;
    while (c->same && c->status == GPUFL_OK && c->len > 0 && s->compare_left > 0) {
        if (*budget <= 0) {
            return false;
        }
        *budget -= second_compare_chunk(s);
    }
    c->same = c->same && (c->status != GPUFL_OK || c->len == 0);
    /* A writer that was killed leaves half a line in both. */
    c->same = c->same && (c->status != GPUFL_OK || !c->in_line ||
                          second_read(s, c->at, &byte, 1) == 0);
    return true;
}

/* To the last byte: what follows a damaged member counts, too. \return GPUFL_BUSY if
 * there is more. */
static gpufl_status second_check(struct second_search *s, int64_t *budget)
{
    size_t step = *budget < (int64_t)s->check_left ? (size_t)*budget : s->check_left;
    size_t left = step;
    s->check = s->check ? s->check : gz_file_open(GZ_CHECK);
    if (!s->check) {
        return GPUFL_ERR_IO;
    }
    gpufl_status status = gz_file_step(s->check, s->sys, s->gz, -1, &left);
    *budget -= (int64_t)(step - left);
    s->check_left -= step - left;
    return status == GPUFL_BUSY && s->check_left == 0 ? GPUFL_ERR_FORMAT : status;
}

/* \return GPUFL_BUSY, or GPUFL_OK with what it is to this file. */
static gpufl_status second_pair(struct second_search *s, int64_t *budget,
                                enum second_form *form)
{
    const struct second_compared *c = &s->c;
    s->compared = s->compared || second_compare(s, budget);
    if (!s->compared) {
        return GPUFL_BUSY;
    }
    if (s->failed) {
        *form = SECOND_FORM_UNREADABLE;
    } else if (!c->same || !c->whole_line) {
        *form = SECOND_FORM_OTHER;
    } else if (c->status != GPUFL_OK) {
        *form = c->cut && s->of_is_active ? SECOND_FORM_CUT_ACTIVE : SECOND_FORM_CUT;
    } else {
        gpufl_status whole = *budget > 0 ? second_check(s, budget) : GPUFL_BUSY;
        if (whole == GPUFL_BUSY) {
            return GPUFL_BUSY;
        }
        *form = whole == GPUFL_ERR_IO ? SECOND_FORM_UNREADABLE
                : whole != GPUFL_OK   ? SECOND_FORM_CUT
                : s->of_is_active     ? SECOND_FORM_COPY_ACTIVE
                                      : SECOND_FORM_COPY;
    }
    return GPUFL_OK;
}

static void second_note(struct second_search *s, enum second_form form)
{
    s->form = form > s->form ? form : s->form;
}

static void second_pair_end(struct second_search *s)
{
    if (s->of >= 0) {
        close(s->of);
        s->of = -1;
    }
    gz_cache_close(&s->of_cache);
    gz_file_close(s->check);
    s->check = NULL;
}

static void second_pair_begin(struct second_search *s, int dir, const char *file,
                              const struct layout_name *name)
{
    s->of = file_open(s->sys, dir, file);
    s->of_is_gz = name->gz;
    s->of_is_active = name->kind == LAYOUT_ACTIVE;
    s->failed = s->compared = false;
    s->check_left = 2 * COMPARE_MAX;
    s->c = (struct second_compared){.same = true, .len = 1};
    if (s->of < 0 && errno != ENOENT && errno != ELOOP) {
        second_note(s, SECOND_FORM_UNREADABLE);
    }
}

/* Opens the next file that it may be the beginning of. \return GPUFL_OK; GPUFL_BUSY;
 * GPUFL_ERR_NOT_FOUND if there is no other. */
static gpufl_status second_next(struct second_search *s, const struct second_place *place,
                                int64_t *budget)
{
    while (s->of < 0) {
        const struct dirent64 *entry = *budget > 0 ? listing_next(&s->listing) : NULL;
        if (!entry) {
            return *budget > 0 ? GPUFL_ERR_NOT_FOUND : GPUFL_BUSY;
        }
        struct layout_name name = layout_parse(entry->d_name);
        *budget -= NAME_COST;
        if ((name.kind == LAYOUT_NUMBERED || (name.kind == LAYOUT_ACTIVE && !name.gz)) &&
            strcmp(name.channel, place->channel) == 0) {
            second_pair_begin(s, place->dir, entry->d_name, &name);
        }
    }
    return GPUFL_OK;
}

/* Compares it with all other files of the channel, until it is a copy of one. */
static gpufl_status second_go_on(struct second_search *s,
                                 const struct second_place *place, int64_t *budget)
{
    while (s->form < SECOND_FORM_COPY_ACTIVE) {
        enum second_form form;
        gpufl_status status = second_next(s, place, budget);
        if (status == GPUFL_ERR_NOT_FOUND) {
            break;
        }
        status = status == GPUFL_OK ? second_pair(s, budget, &form) : status;
        if (status != GPUFL_OK) {
            return status;
        }
        second_note(s, form);
        second_pair_end(s);
    }
    if (s->form < SECOND_FORM_COPY_ACTIVE && s->listing.error) {
        s->form = SECOND_FORM_UNREADABLE;
    }
    return GPUFL_OK;
}

/* \return the identity of the active file; all zero = it is not there. */
static struct file_known second_form_active(int dir, const char *channel)
{
    char name[LAYOUT_PATH_MAX];
    struct file_known active = {0};
    layout_active(name, channel, false);
    int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0) {
        active = file_known_of(fd);
        close(fd);
    }
    return active;
}

/* Sealed files keep their numbers, so a copy of one stays a copy. What was found beside
 * an active file counts while that one is there. \return 0 = nothing is to be known. */
static uint64_t second_form_stamp(int gz, int dir, const char *channel,
                                  enum second_form form)
{
    struct stat st;
    struct file_known active = {0};
    if (form == SECOND_FORM_UNREADABLE || fstat(gz, &st) < 0) {
        return 0;
    }
    if (form != SECOND_FORM_COPY) {
        active = second_form_active(dir, channel);
    }
    if (form == SECOND_FORM_COPY_ACTIVE && !active.inode) {
        return 0;
    }
    const int64_t all[] = {(int64_t)st.st_ino,    st.st_size,    st.st_ctim.tv_sec,
                           st.st_ctim.tv_nsec,    (int64_t)form, (int64_t)active.device,
                           (int64_t)active.inode, active.born_ns};
    return hash64_bytes(HASH64_BASIS, all, sizeof all);
}

/* \return true if the form of the compressed file \p gz is known. */
static bool second_form_is_known(const struct second_place *place, int gz,
                                 enum second_form *form)
{
    const struct second_known *known = place->known;
    for (int f = SECOND_FORM_COPY; known->stamp && f >= SECOND_FORM_OTHER; f--) {
        *form = (enum second_form)f;
        if (second_form_stamp(gz, place->dir, place->channel, *form) == known->stamp) {
            return f != SECOND_FORM_OTHER || known->files == place->files;
        }
    }
    return false;
}

/* \return NULL if it cannot be searched now. */
static struct second_search *second_open(const struct second_place *place, int gz)
{
    struct second_search *s = calloc(1, sizeof *s);
    if (!s || listing_open(&s->listing, place->sys, place->dir, ".") != GPUFL_OK) {
        free(s);
        return NULL;
    }
    s->sys = place->sys;
    s->gz = gz;
    s->of = -1;
    s->compare_left = COMPARE_MAX;
    s->begun = second_form_stamp(gz, place->dir, place->channel, SECOND_FORM_CUT);
    s->begun_gz = second_form_stamp(gz, place->dir, place->channel, SECOND_FORM_COPY);
    return s;
}

/* *search stays NULL if there is nothing to search, and *form is what is known. */
static void second_form_begin(const struct second_place *place,
                              struct second_search **search, enum second_form *form)
{
    char name[LAYOUT_PATH_MAX];
    layout_active(name, place->channel, true);
    int gz = file_open(place->sys, place->dir, name);
    *form = gz < 0 && errno == ENOENT ? SECOND_FORM_OTHER : SECOND_FORM_UNREADABLE;
    if (gz >= 0 && !second_form_is_known(place, gz, form)) {
        *form = SECOND_FORM_UNREADABLE;
        *search = second_open(place, gz);
    }
    if (gz >= 0 && !*search) {
        close(gz);
    }
}

/* What changed meanwhile is compared again at the next look. */
static enum second_form second_form_end(const struct second_search *s,
                                        const struct second_place *place)
{
    bool copy = s->form == SECOND_FORM_COPY;
    bool same = second_form_stamp(s->gz, place->dir, place->channel,
                                  copy ? SECOND_FORM_COPY : SECOND_FORM_CUT) ==
                (copy ? s->begun_gz : s->begun);
    *place->known = (struct second_known){0};
    if (!same) {
        return SECOND_FORM_UNREADABLE;
    }
    place->known->stamp = second_form_stamp(s->gz, place->dir, place->channel, s->form);
    place->known->files = place->files;
    return s->form;
}

void second_form_stop(struct second_search *s)
{
    if (s) {
        second_pair_end(s);
        gz_cache_close(&s->own_cache);
        listing_close(&s->listing);
        close(s->gz);
        free(s);
    }
}

gpufl_status second_form_step(const struct second_place *place,
                              struct second_search **search, int64_t *budget,
                              enum second_form *form)
{
    if (!*search) {
        second_form_begin(place, search, form);
    }
    if (!*search) {
        return GPUFL_OK;
    }
    if (second_go_on(*search, place, budget) == GPUFL_BUSY) {
        return GPUFL_BUSY;
    }
    *form = second_form_end(*search, place);
    second_form_stop(*search);
    *search = NULL;
    return GPUFL_OK;
}
