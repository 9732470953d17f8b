/* SPDX-License-Identifier: Apache-2.0 */
/* Reads gzip files through a few open decoders, the least recently used replaced first.
 * The way to a place may be long: it is gone in steps.
 * A batch ends with a line, so the next read begins a little before the end of the last
 * one: the decoder is kept as it was where the last read began. */
#include "upload/source/gz_cache.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"

#define GZIP_WINDOW (15 + 16) /* for zlib: a 32 KiB window and gzip framing */
#define CHUNK_BYTES 16384u
/* Input that holds nothing could otherwise keep a read busy for as long as somebody
 * likes. A member is 20 bytes more than what it holds, and its header 64 KiB and names.
 */
#define IDLE_MAX         (128u << 10)
#define IN_FOR_EACH_BYTE 4u
/* What lies before a place is read, too: a mark, or the last line. */
#define BEFORE_BYTES 4096u
/* Whoever began it does not come back. */
#define LEFT_MS 60000u

/* The decoder at a place of its file. */
struct gz_point {
    z_stream z;
    uint64_t in;   /* the next byte of the file */
    uint64_t out;  /* the next byte of what it holds */
    uint64_t idle; /* input that what it held does not account for */
    bool between;  /* no member has begun, or one has ended */
};

struct gz_decoder {
    int fd;
    uint64_t decoded; /* bytes, by this read */
    bool cut;         /* the file ends within a member */
    bool failed;      /* a read of it did, since this was set */
    bool has_back;
    unsigned now;             /* which of the two is in use; zlib forbids moving them */
    struct gz_point point[2]; /* the other is where the last read began */
};

static void gz_drop_back(struct gz_decoder *d)
{
    if (d->has_back) {
        inflateEnd(&d->point[!d->now].z);
        d->has_back = false;
    }
}

static void gz_decoder_close(struct gz_decoder *d)
{
    if (d) {
        gz_drop_back(d);
        inflateEnd(&d->point[d->now].z);
        if (d->fd >= 0) {
            close(d->fd);
        }
        free(d);
    }
}

static struct gz_decoder *gz_decoder_open(int fd)
{
    struct gz_decoder *d = calloc(1, sizeof *d);
    if (!d || inflateInit2(&d->point[0].z, GZIP_WINDOW) != Z_OK) {
        free(d);
        return NULL;
    }
    d->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    d->point[0].between = true;
    if (d->fd < 0) {
        gz_decoder_close(d);
        return NULL;
    }
    return d;
}

static bool gz_is_magic(const unsigned char magic[2])
{
    return magic[0] == 0x1f && magic[1] == 0x8b;
}

static bool gz_member_begins_at(struct gz_decoder *d, uint64_t at)
{
    unsigned char magic[2];
    ssize_t n = file_pread_full(&sys_real, d->fd, magic, 2, (off_t)at);
    d->failed = d->failed || n < 0;
    return n == 2 && gz_is_magic(magic);
}

static bool gz_member_begins(struct gz_decoder *d, const struct gz_point *p)
{
    return p->z.avail_in >= 2 ? gz_is_magic(p->z.next_in)
                              : gz_member_begins_at(d, p->in - p->z.avail_in);
}

/* Goes to a place before \p offset that is known, if need be. */
static bool gz_go_back(struct gz_decoder *d, uint64_t offset)
{
    if (d->point[d->now].out <= offset) {
        return true;
    }
    if (d->has_back && d->point[!d->now].out <= offset) {
        inflateEnd(&d->point[d->now].z);
        d->now = !d->now;
        d->has_back = false;
        return true;
    }
    struct gz_point *p = &d->point[d->now];
    p->in = p->out = p->idle = 0;
    p->between = true;
    return inflateReset(&p->z) == Z_OK;
}

static void gz_keep_point(struct gz_decoder *d)
{
    struct gz_point *from = &d->point[d->now];
    struct gz_point *to = &d->point[!d->now];
    gz_drop_back(d);
    *to = (struct gz_point){
        .in = from->in, .out = from->out, .idle = from->idle, .between = from->between};
    d->has_back = inflateCopy(&to->z, &from->z) == Z_OK;
}

/* Reads some input, unless there is some. \return -1 on failure, 0 at the end. */
static ssize_t gz_fill(struct gz_decoder *d, struct gz_point *p, unsigned char *in)
{
    if (p->z.avail_in > 0) {
        return 1;
    }
    ssize_t n = file_pread_full(&sys_real, d->fd, in, CHUNK_BYTES, (off_t)p->in);
    d->failed = d->failed || n < 0;
    p->in += n > 0 ? (uint64_t)n : 0;
    p->z.next_in = in;
    p->z.avail_in = n > 0 ? (uInt)n : 0;
    return n;
}

/* Decodes some of the input. */
static int gz_inflate(struct gz_point *p)
{
    uInt in = p->z.avail_in;
    uInt room = p->z.avail_out;
    int rc = inflate(&p->z, Z_NO_FLUSH);
    uint64_t paid = IN_FOR_EACH_BYTE * (uint64_t)(room - p->z.avail_out);
    p->idle += in - p->z.avail_in;
    p->idle -= paid < p->idle ? paid : p->idle;
    p->between = rc == Z_STREAM_END;
    return rc;
}

/* Decodes up to \p cap bytes. What follows the last member is ignored, as gzip does. */
static gpufl_status gz_decode(struct gz_decoder *d, void *buf, size_t cap, size_t *len)
{
    unsigned char in[CHUNK_BYTES];
    struct gz_point *p = &d->point[d->now];
    gpufl_status status = GPUFL_OK;
    ssize_t n = 1;
    int rc = Z_OK;
    p->z.next_out = buf;
    p->z.avail_out = (uInt)cap;
    while (p->z.avail_out > 0 && p->idle <= IDLE_MAX && (n = gz_fill(d, p, in)) > 0) {
        if (p->between && (!gz_member_begins(d, p) || inflateReset(&p->z) != Z_OK)) {
            break;
        }
        rc = gz_inflate(p);
        if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR) {
            status = GPUFL_ERR_FORMAT; /* what was decoded cannot be believed */
            break;
        }
    }
    p->in -= p->z.avail_in;
    p->z.avail_in = 0;
    *len = status == GPUFL_OK && !d->failed ? cap - p->z.avail_out : 0;
    p->out += cap - p->z.avail_out;
    d->decoded += cap - p->z.avail_out;
    d->cut = n == 0 && !p->between;
    if (d->failed) { /* also if that was where another member may begin */
        return GPUFL_ERR_IO;
    }
    return status != GPUFL_OK || d->cut || p->idle > IDLE_MAX ? GPUFL_ERR_FORMAT
                                                              : GPUFL_OK;
}

/* Goes on to \p offset, or to the end of the file, then *got is 0. */
static gpufl_status gz_skip(struct gz_cache *cache, struct gz_decoder *d, uint64_t offset,
                            size_t *got)
{
    unsigned char skipped[CHUNK_BYTES];
    gpufl_status status = GPUFL_OK;
    *got = 1;
    while (status == GPUFL_OK && *got && d->point[d->now].out < offset) {
        uint64_t left = offset - d->point[d->now].out;
        size_t len = left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES;
        if (!cache->holds_place && !gz_cache_spend(cache, len)) {
            return GPUFL_BUSY;
        }
        status = gz_decode(d, skipped, len, got);
    }
    return status;
}

static gpufl_status gz_decode_at(struct gz_cache *cache, struct gz_decoder *d,
                                 uint64_t offset, char *buf, size_t cap, size_t *len)
{
    uint64_t before = offset > BEFORE_BYTES ? offset - BEFORE_BYTES : 0;
    size_t got = 1;
    gpufl_status status =
        gz_go_back(d, offset) ? GPUFL_OK : GPUFL_ERR_IO; /* out of memory */
    *len = 0;
    if (status == GPUFL_OK) {
        status = gz_skip(cache, d, before, &got);
    }
    if (status == GPUFL_OK && got && !cache->holds_place) {
        gz_keep_point(d);
    }
    if (status == GPUFL_OK && got) {
        status = gz_skip(cache, d, offset, &got);
    }
    return status == GPUFL_OK && got ? gz_decode(d, buf, cap, len) : status;
}

static void gz_slot_close(struct gz_cache *cache, unsigned at)
{
    gz_decoder_close(cache->slot[at].decoder);
    cache->slot[at].decoder = NULL;
}

static unsigned gz_slots_of(const struct gz_cache *cache, uint32_t owner)
{
    unsigned count = 0;
    for (unsigned i = 0; i < GZ_CACHE_SLOTS; i++) {
        count += cache->slot[i].decoder && cache->slot[i].owner == owner;
    }
    return count;
}

/* Whether \p owner, who has \p own of them, may take this one. One that has many more
 * gives up any: it would keep others waiting for as long as it likes. */
static bool gz_slot_may_go(const struct gz_cache *cache, unsigned at, unsigned own)
{
    bool pending = cache->step_bytes && cache->slot[at].pending &&
                   cache->now_ms - cache->slot[at].used_ms < LEFT_MS;
    unsigned its = gz_slots_of(cache, cache->slot[at].owner);
    bool mine = cache->slot[at].owner == cache->owner;
    return its >= own + 2 || (!pending && (mine || own == 0));
}

/* \return a free slot, else the least recently used one of the owner who has the most of
 * those that may go; -1 = none may. */
static int gz_slot_free(const struct gz_cache *cache)
{
    unsigned own = gz_slots_of(cache, cache->owner);
    unsigned most = 0;
    int free_one = -1;
    for (unsigned i = 0; i < GZ_CACHE_SLOTS; i++) {
        if (!cache->slot[i].decoder) {
            return (int)i;
        }
        unsigned its = gz_slots_of(cache, cache->slot[i].owner);
        if (gz_slot_may_go(cache, i, own) &&
            (its > most ||
             (its == most && cache->slot[i].used < cache->slot[free_one].used))) {
            most = its;
            free_one = (int)i;
        }
    }
    return free_one;
}

/* The slot that has this file open, else one that is opened for it. \return
 * GZ_CACHE_SLOTS if none is free now; -1 on failure. */
static int gz_slot_of(struct gz_cache *cache, int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0) {
        return -1;
    }
    for (unsigned i = 0; i < GZ_CACHE_SLOTS; i++) {
        if (cache->slot[i].decoder && cache->slot[i].device == st.st_dev &&
            cache->slot[i].inode == st.st_ino && cache->slot[i].owner == cache->owner &&
            cache->slot[i].reader == cache->reader) {
            return (int)i;
        }
    }
    int at = gz_slot_free(cache);
    if (at < 0) {
        return GZ_CACHE_SLOTS;
    }
    gz_slot_close(cache, (unsigned)at);
    cache->slot[at].decoder = gz_decoder_open(fd);
    cache->slot[at].device = st.st_dev;
    cache->slot[at].inode = st.st_ino;
    cache->slot[at].owner = cache->owner;
    cache->slot[at].reader = cache->reader;
    cache->slot[at].pending = false;
    return cache->slot[at].decoder ? at : -1;
}

void gz_cache_turn(struct gz_cache *cache, uint64_t now_ms)
{
    cache->left = cache->step_bytes;
    cache->now_ms = now_ms;
    cache->busy = cache->full = false;
}

struct gz_cache *gz_cache_for(struct gz_cache *cache, uint32_t owner, const void *reader)
{
    cache->owner = owner;
    cache->reader = reader;
    return cache;
}

bool gz_cache_spend(struct gz_cache *cache, uint64_t bytes)
{
    if (!cache->step_bytes) {
        return true;
    }
    cache->busy = cache->busy || cache->left == 0;
    bool may = cache->left > 0;
    cache->left -= bytes < cache->left ? bytes : cache->left;
    return may;
}

uint64_t gz_cache_spent(const struct gz_cache *cache)
{
    return cache->step_bytes - cache->left;
}

gpufl_status gz_cache_read(struct gz_cache *cache, int fd, uint64_t offset, char *buf,
                           size_t cap, size_t *len)
{
    int at = gz_slot_of(cache, fd);
    *len = 0;
    cache->plain = cache->cut = false;
    cache->failed = at < 0;
    if (at < 0) {
        return GPUFL_ERR_IO;
    }
    if (at == GZ_CACHE_SLOTS) {
        cache->busy = cache->full = true;
        return GPUFL_BUSY;
    }
    struct gz_decoder *d = cache->slot[at].decoder;
    cache->slot[at].used = ++cache->clock;
    cache->slot[at].used_ms = cache->now_ms;
    d->cut = false;
    d->failed = false;
    cache->plain = !gz_member_begins_at(d, 0);
    cache->failed = d->failed;
    if (cache->plain) {
        ssize_t n = file_pread_full(&sys_real, d->fd, buf, cap, (off_t)offset);
        *len = n > 0 ? (size_t)n : 0;
        return n < 0 ? GPUFL_ERR_IO : GPUFL_OK;
    }
    gpufl_status status = gz_decode_at(cache, d, offset, buf, cap, len);
    cache->decoded += d->decoded;
    cache->cut = d->cut;
    cache->failed = d->failed;
    d->decoded = 0;
    cache->slot[at].pending = status == GPUFL_BUSY;
    if (status != GPUFL_OK && status != GPUFL_BUSY) {
        gz_slot_close(cache, (unsigned)at);
    }
    return status;
}

void gz_cache_close(struct gz_cache *cache)
{
    for (unsigned i = 0; i < GZ_CACHE_SLOTS; i++) {
        gz_slot_close(cache, i);
    }
}
