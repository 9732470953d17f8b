/* SPDX-License-Identifier: Apache-2.0 */
/* Reads gzip files through a few open decoders, the least recently used replaced first.
 * The way to a place may be long: it is gone in steps. */
#include "upload/source/gz_cache.h"

#include <sys/stat.h>

#include "upload/source/gz_decoder.h"

#define CHUNK_BYTES 16384u
/* What lies before a place is read, too: a mark, or the last line. The place before that
 * stays known while both are read in turn. */
#define BEFORE_BYTES 4096u
/* Whoever began it does not come back. */
#define LEFT_MS 60000u
/* So many files are read to their end one after the other. If all were read in turn, each
 * batch would begin at the start of its file. One whose batches come no more, as the
 * backend does not take them, is not waited for. */
#define KEPT_MS         2000u
#define KEPT_LEAST_WORK (64u << 20)
/* At its end, a file is read a few times more: the last line, and whether more has come.
 * It is kept for twice as long as decoding it again takes. */
#define KEPT_WORK_FOR_EACH_MS (32u << 10)
/* Of a turn: a mark, a batch and a long line, or a batch that is read again. The ways
 * between them are short. */
#define STEPS_IN_TURN 3u
#define STEPS_AHEAD   2u
/* Of a read of more than 32 KiB; a line of 8 MiB costs 9 MiB. */
#define READ_LEAST    (4u << 20)
#define READ_FOR_EACH 2u

static void gz_charge(struct gz_cache *cache, uint64_t work)
{
    cache->work += work;
    cache->spent += work;
}

static gpufl_status gz_busy(struct gz_cache *cache)
{
    cache->busy = true;
    return GPUFL_BUSY;
}

/* What came of a piece that was decoded with \p status. */
static gpufl_status gz_decoded(struct gz_cache *cache, const struct gz_decoder *d,
                               gpufl_status status, struct gz_piece *piece)
{
    gz_charge(cache, piece->work);
    cache->cut = piece->cut;
    cache->failed = piece->failed;
    cache->excessive = cache->no_excess && gz_decoder_is_excessive(d);
    if (cache->excessive) {
        piece->len = 0;
        return GPUFL_ERR_FORMAT;
    }
    return status;
}

/* Goes on to \p offset, or to the end of the file, then *there is false. */
static gpufl_status gz_skip(struct gz_cache *cache, struct gz_decoder *d, uint64_t offset,
                            bool *there)
{
    char skipped[CHUNK_BYTES];
    gpufl_status status = GPUFL_OK;
    struct gz_piece piece = {.len = 1};
    uint64_t unlimited = UINT64_MAX;
    uint64_t *left = cache->holds_place  ? &cache->ahead_left
                     : cache->step_bytes ? &cache->left
                                         : &unlimited;
    while (status == GPUFL_OK && (piece.len || piece.part) && gz_decoder_at(d) < offset) {
        uint64_t rest = offset - gz_decoder_at(d);
        if (*left == 0) {
            return cache->holds_place ? GPUFL_ERR_FORMAT : gz_busy(cache);
        }
        status = gz_decoder_read(d, gz_decoder_at(d), skipped,
                                 rest < CHUNK_BYTES ? (size_t)rest : CHUNK_BYTES, *left,
                                 &piece);
        status = gz_decoded(cache, d, status, &piece);
        *left -= piece.work < *left ? piece.work : *left;
    }
    *there = piece.len || piece.part;
    return status;
}

/* \return what a read of \p cap bytes may cost. Some come out whatever the file is. */
static uint64_t gz_read_limit(size_t cap)
{
    uint64_t most = GZ_DECODER_FOR_EACH_BYTE * (uint64_t)cap;
    uint64_t usual = READ_FOR_EACH * (uint64_t)cap;
    usual = usual > READ_LEAST ? usual : READ_LEAST;
    return GZ_DECODER_IDLE_MAX + (usual < most ? usual : most);
}

static gpufl_status gz_decode_at(struct gz_cache *cache, struct gz_decoder *d,
                                 uint64_t offset, char *buf, size_t cap, size_t *len)
{
    uint64_t reach = cache->holds_place ? 0 : BEFORE_BYTES;
    uint64_t before = offset > reach ? offset - reach : 0;
    struct gz_piece piece = {0};
    bool there = true;
    gpufl_status status = gz_decoder_back(d, before, offset) ? GPUFL_OK : GPUFL_ERR_IO;
    if (status == GPUFL_OK) {
        status = gz_skip(cache, d, before, &there);
    }
    if (status == GPUFL_OK && there && !cache->holds_place) {
        gz_decoder_keep(d, before > BEFORE_BYTES ? before - BEFORE_BYTES : 0, before);
    }
    if (status == GPUFL_OK && there) {
        status = gz_skip(cache, d, offset, &there);
    }
    if (status != GPUFL_OK || !there) {
        return status;
    }
    if (cache->step_bytes && cache->spent >= STEPS_IN_TURN * cache->step_bytes) {
        return gz_busy(cache);
    }
    status =
        gz_decoder_read(d, offset, buf, cap,
                        cache->read_most ? cache->read_most : gz_read_limit(cap), &piece);
    status = gz_decoded(cache, d, status, &piece);
    cache->part = piece.part;
    *len = piece.len;
    return status;
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

/* A turn may be older than the one before. */
static uint64_t gz_slot_age_ms(const struct gz_cache *cache, unsigned at)
{
    uint64_t used_ms = cache->slot[at].used_ms;
    return cache->now_ms > used_ms ? cache->now_ms - used_ms : 0;
}

/* Whether the owner, who has \p own of them, may take this one. One that has many more
 * gives up any: it would keep others waiting for as long as it likes. */
static bool gz_slot_may_go(const struct gz_cache *cache, unsigned at, unsigned own)
{
    bool pending = cache->step_bytes && cache->slot[at].pending &&
                   gz_slot_age_ms(cache, at) < LEFT_MS;
    bool kept = cache->step_bytes && cache->now_ms < cache->slot[at].kept_until_ms;
    unsigned its = gz_slots_of(cache, cache->slot[at].owner);
    bool mine = cache->slot[at].owner == cache->owner;
    return its >= own + 2 || (!pending && ((mine && !kept) || own == 0));
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

/* After a read, of a batch or of a few bytes: keeps the decoder until the next batch, or
 * for as long as it is worth. What it costs to come back there, it may have yielded. */
static void gz_slot_keep(struct gz_cache *cache, unsigned at, bool batch, bool more)
{
    uint64_t way = gz_decoder_way(cache->slot[at].decoder);
    if (batch && !cache->slot[at].begun) {
        cache->slot[at].begun = true;
        cache->slot[at].way = way;
    }
    if (batch && more) {
        bool all = way >= 2 * cache->slot[at].way + KEPT_LEAST_WORK;
        cache->slot[at].kept_until_ms = all ? 0 : cache->now_ms + KEPT_MS;
        cache->slot[at].ended = false;
    } else if ((batch || !cache->slot[at].begun) && !cache->slot[at].ended) {
        cache->slot[at].kept_until_ms = cache->now_ms + way / KEPT_WORK_FOR_EACH_MS;
        cache->slot[at].ended = true;
    }
}

static bool gz_slot_is_of(const struct gz_cache *cache, unsigned at,
                          const struct stat *st)
{
    return cache->slot[at].decoder && cache->slot[at].device == st->st_dev &&
           cache->slot[at].inode == st->st_ino && cache->slot[at].owner == cache->owner &&
           cache->slot[at].reader == cache->reader;
}

static bool gz_slot_is_as_before(const struct gz_cache *cache, unsigned at,
                                 const struct stat *st)
{
    return cache->slot[at].bytes == st->st_size &&
           cache->slot[at].modified.tv_sec == st->st_mtim.tv_sec &&
           cache->slot[at].modified.tv_nsec == st->st_mtim.tv_nsec;
}

static bool gz_slot_open(struct gz_cache *cache, unsigned at, const struct stat *st,
                         int fd)
{
    gz_slot_close(cache, at);
    cache->slot[at].decoder = gz_decoder_open(fd);
    cache->slot[at].device = st->st_dev;
    cache->slot[at].inode = st->st_ino;
    cache->slot[at].bytes = st->st_size;
    cache->slot[at].modified = st->st_mtim;
    cache->slot[at].owner = cache->owner;
    cache->slot[at].reader = cache->reader;
    cache->slot[at].pending = cache->slot[at].begun = cache->slot[at].ended = false;
    cache->slot[at].kept_until_ms = 0;
    return cache->slot[at].decoder;
}

/* The slot that has this file open, else one that is opened for it. \return
 * GZ_CACHE_SLOTS if none is free now; -1 on failure. */
static int gz_slot_of(struct gz_cache *cache, int fd)
{
    struct stat st;
    int at = 0;
    if (fstat(fd, &st) < 0) {
        return -1;
    }
    while (at < (int)GZ_CACHE_SLOTS && !gz_slot_is_of(cache, (unsigned)at, &st)) {
        at++;
    }
    if (at < (int)GZ_CACHE_SLOTS && gz_slot_is_as_before(cache, (unsigned)at, &st)) {
        return at;
    }
    at = at < (int)GZ_CACHE_SLOTS ? at : gz_slot_free(cache);
    if (at < 0) {
        return GZ_CACHE_SLOTS;
    }
    return gz_slot_open(cache, (unsigned)at, &st, fd) ? at : -1;
}

void gz_cache_turn(struct gz_cache *cache, uint64_t now_ms)
{
    cache->left = cache->step_bytes;
    cache->spent = 0;
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
    if (cache->left == 0) {
        cache->busy = true;
        return false;
    }
    cache->spent += bytes;
    cache->left -= bytes < cache->left ? bytes : cache->left;
    return true;
}

void gz_cache_note(struct gz_cache *cache, uint64_t work)
{
    gz_charge(cache, work);
}

uint64_t gz_cache_spent(const struct gz_cache *cache)
{
    return cache->spent;
}

void gz_cache_hold_place(struct gz_cache *cache, bool holds)
{
    cache->holds_place = holds;
    cache->ahead_left = STEPS_AHEAD * GZ_CACHE_STEP_BYTES;
}

static gpufl_status gz_read_plain(const struct gz_decoder *d, uint64_t offset, char *buf,
                                  size_t cap, size_t *len)
{
    ssize_t n = gz_decoder_plain(d, offset, buf, cap);
    *len = n > 0 ? (size_t)n : 0;
    return n < 0 ? GPUFL_ERR_IO : GPUFL_OK;
}

gpufl_status gz_cache_read(struct gz_cache *cache, int fd, uint64_t offset, char *buf,
                           size_t cap, size_t *len)
{
    int at = gz_slot_of(cache, fd);
    *len = 0;
    cache->plain = cache->cut = cache->part = cache->excessive = false;
    cache->failed = at < 0;
    if (at < 0) {
        return GPUFL_ERR_IO;
    }
    if (at == GZ_CACHE_SLOTS) {
        cache->full = true;
        return gz_busy(cache);
    }
    struct gz_decoder *d = cache->slot[at].decoder;
    cache->slot[at].used = ++cache->clock;
    cache->slot[at].used_ms = cache->now_ms;
    bool begins = gz_decoder_begins(d, &cache->failed);
    if (cache->failed) { /* which says nothing of what the file is */
        gz_slot_close(cache, (unsigned)at);
        return GPUFL_ERR_IO;
    }
    cache->plain = !begins;
    if (cache->plain) {
        return gz_read_plain(d, offset, buf, cap, len);
    }
    gpufl_status status = gz_decode_at(cache, d, offset, buf, cap, len);
    cache->slot[at].pending = status == GPUFL_BUSY;
    if (status == GPUFL_OK) {
        gz_slot_keep(cache, (unsigned)at, cap > CHUNK_BYTES, cache->part || *len == cap);
    }
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
