/* SPDX-License-Identifier: Apache-2.0 */
/* A batch ends with a line, so the next read begins a little before the end of the last
 * one: what zlib has in its window is not decoded again. The state is kept as it was
 * where the last read began, too, for a longer line, and for a batch that is read again.
 */
#include "upload/source/gz_decoder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"

#define GZIP_WINDOW  (15 + 16) /* for zlib: a 32 KiB window and gzip framing */
#define WINDOW_BYTES 32768u
#define CHUNK_BYTES  16384u
/* What one call of inflate yields at most, so that it is known what the window has cost.
 * Of usual files that is the window, and what two calls yield. */
#define CALL_BYTES       65536u
#define WINDOW_COST_MOST (WINDOW_BYTES + 4 * CALL_BYTES)
/* Measured: a block of 11 bytes that holds nothing takes as long as 220 bytes of lines,
 * which is 19 for each of its own. Large ones hold something. */
#define WORK_FOR_EACH_IN 32u
#define WORK_OF_BLOCK    1024u
/* More zeros than a sound file ends with or, behind any place, holds before its end. */
#define ZEROS 16u

/* The decoder at a place of its file. */
struct gz_point {
    z_stream z;
    uint64_t in;   /* the next byte of the file */
    uint64_t out;  /* the next byte of what it holds */
    uint64_t idle; /* work that what it held does not account for */
    uint64_t work; /* from the begin of the file to there */
    bool between;  /* no member has begun, or one has ended */
    struct {
        uint64_t out, work;
    } way[2]; /* … at two places, the first of which is before the window */
};

struct gz_decoder {
    int fd;
    bool failed; /* a read of it did, in this piece */
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

void gz_decoder_close(struct gz_decoder *d)
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

struct gz_decoder *gz_decoder_open(int fd)
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

static bool gz_member_begins_at(const struct gz_decoder *d, uint64_t at, bool *failed)
{
    unsigned char magic[2];
    ssize_t n = file_pread_full(&sys_real, d->fd, magic, 2, (off_t)at);
    *failed = *failed || n < 0;
    return n == 2 && gz_is_magic(magic);
}

bool gz_decoder_begins(const struct gz_decoder *d, bool *failed)
{
    *failed = false;
    return gz_member_begins_at(d, 0, failed);
}

ssize_t gz_decoder_plain(const struct gz_decoder *d, uint64_t offset, char *buf,
                         size_t cap)
{
    return file_pread_full(&sys_real, d->fd, buf, cap, (off_t)offset);
}

uint64_t gz_decoder_at(const struct gz_decoder *d)
{
    return d->point[d->now].out;
}

uint64_t gz_decoder_way(const struct gz_decoder *d)
{
    return d->point[d->now].work;
}

bool gz_decoder_is_excessive(const struct gz_decoder *d)
{
    const struct gz_point *p = &d->point[d->now];
    return p->work > GZ_DECODER_EXCESS_LEAST + GZ_DECODER_EXCESS_FOR_EACH_IN * p->in;
}

static bool gz_member_begins(struct gz_decoder *d, const struct gz_point *p)
{
    return p->z.avail_in >= 2 ? gz_is_magic(p->z.next_in)
                              : gz_member_begins_at(d, p->in - p->z.avail_in, &d->failed);
}

/* What it has cost to decode the window, or a little more. */
static uint64_t gz_window_cost(const struct gz_point *p)
{
    return p->work - p->way[0].work;
}

/* Where that begins which zlib still has: up to 32 KiB of the member. What has cost much
 * is decoded again: a batch is read within a limit, and must be when it is read again. */
static uint64_t gz_point_from(struct gz_point *p)
{
    uInt len = 0;
    bool usual = gz_window_cost(p) <= WINDOW_COST_MOST;
    return usual && inflateGetDictionary(&p->z, NULL, &len) == Z_OK ? p->out - len
                                                                    : p->out;
}

/* \return how much of what is at \p offset zlib has. */
static size_t gz_point_copy(struct gz_point *p, uint64_t offset, char *buf, size_t cap)
{
    unsigned char window[WINDOW_BYTES];
    uInt len = 0;
    if (offset >= p->out || inflateGetDictionary(&p->z, window, &len) != Z_OK ||
        p->out - offset > len) {
        return 0;
    }
    size_t last = (size_t)(p->out - offset);
    size_t n = last < cap ? last : cap;
    memcpy(buf, window + len - last, n);
    return n;
}

/* \return false if \p offset cannot be read from one of the two. */
static bool gz_decoder_reach(struct gz_decoder *d, uint64_t offset)
{
    if (gz_point_from(&d->point[d->now]) <= offset) {
        return true;
    }
    if (!d->has_back || gz_point_from(&d->point[!d->now]) > offset) {
        return false;
    }
    inflateEnd(&d->point[d->now].z);
    d->now = !d->now;
    d->has_back = false;
    return true;
}

bool gz_decoder_back(struct gz_decoder *d, uint64_t before, uint64_t offset)
{
    if (gz_decoder_at(d) <= offset || gz_decoder_reach(d, before) ||
        gz_decoder_reach(d, offset)) {
        return true;
    }
    struct gz_point *p = &d->point[d->now];
    p->in = p->out = p->idle = p->work = 0;
    p->between = true;
    memset(p->way, 0, sizeof p->way);
    return inflateReset(&p->z) == Z_OK;
}

void gz_decoder_keep(struct gz_decoder *d, uint64_t least, uint64_t before)
{
    struct gz_point *from = &d->point[d->now];
    struct gz_point *to = &d->point[!d->now];
    if (d->has_back && to->out >= least && to->out <= from->out &&
        gz_point_from(to) <= before) {
        return;
    }
    gz_drop_back(d);
    *to = (struct gz_point){.in = from->in,
                            .out = from->out,
                            .idle = from->idle,
                            .work = from->work,
                            .between = from->between,
                            .way = {from->way[0], from->way[1]}};
    d->has_back = inflateCopy(&to->z, &from->z) == Z_OK;
}

static size_t gz_without_zeros(const unsigned char *data, size_t len)
{
    while (len > 0 && data[len - 1] == 0) {
        len--;
    }
    return len;
}

/* Whether the file has nothing but zeros from \p at on. Of many, both ends are read. */
static bool gz_is_zeros_from(struct gz_decoder *d, uint64_t at)
{
    unsigned char data[ZEROS];
    struct stat st;
    ssize_t n = file_pread_full(&sys_real, d->fd, data, ZEROS, (off_t)at);
    bool more = n == ZEROS && gz_without_zeros(data, ZEROS) == 0;
    if (more) {
        n = fstat(d->fd, &st) == 0 ? file_pread_full(&sys_real, d->fd, data, ZEROS,
                                                     st.st_size - (off_t)ZEROS)
                                   : -1;
    }
    d->failed = d->failed || n < 0;
    return n >= 0 && gz_without_zeros(data, (size_t)n) == 0;
}

/* Whether the zeros that follow are the end of a member, and hold nothing. */
static bool gz_ends_in_zeros(struct gz_decoder *d, struct gz_point *p)
{
    unsigned char zeros[ZEROS];
    z_stream z = {0};
    ssize_t n = file_pread_full(&sys_real, d->fd, zeros, ZEROS, (off_t)p->in);
    int rc = n > 0 ? inflateCopy(&z, &p->z) : Z_BUF_ERROR;
    d->failed = d->failed || n < 0 || rc == Z_MEM_ERROR;
    z.next_in = zeros;
    z.avail_in = n > 0 ? (uInt)n : 0;
    z.avail_out = 0;
    while (rc == Z_OK) {
        rc = inflate(&z, Z_NO_FLUSH);
    }
    inflateEnd(&z);
    return rc == Z_STREAM_END;
}

/* Reads some input, unless there is some. A power failure may leave zeros at the end of
 * a file, which would be decoded to what the lines before are made of.
 * \return -1 on failure, 0 at the end, or before such zeros. */
static ssize_t gz_fill(struct gz_decoder *d, struct gz_point *p, unsigned char *in)
{
    if (p->z.avail_in > 0) {
        return 1;
    }
    ssize_t n = file_pread_full(&sys_real, d->fd, in, CHUNK_BYTES, (off_t)p->in);
    d->failed = d->failed || n < 0;
    size_t rest = n > 0 ? gz_without_zeros(in, (size_t)n) : 0;
    if (n > 0 && rest < (size_t)n && gz_is_zeros_from(d, p->in + (uint64_t)n)) {
        n = (ssize_t)rest;
    }
    p->in += n > 0 ? (uint64_t)n : 0;
    p->z.next_in = in;
    p->z.avail_in = n > 0 ? (uInt)n : 0;
    return n;
}

uint64_t gz_work(size_t in, size_t out)
{
    uint64_t tables = WORK_FOR_EACH_IN * (uint64_t)in;
    return (in > out ? in : out) + (tables < WORK_OF_BLOCK ? tables : WORK_OF_BLOCK);
}

static void gz_note_way(struct gz_point *p)
{
    if (p->out - p->way[1].out >= WINDOW_BYTES) {
        p->way[0] = p->way[1];
        p->way[1].out = p->out;
        p->way[1].work = p->work;
    }
}

/* Decodes some of the input, at most to the end of a block. */
static int gz_inflate(struct gz_point *p)
{
    uInt in = p->z.avail_in;
    uInt rest = p->z.avail_out;
    uInt room = rest < CALL_BYTES ? rest : CALL_BYTES;
    p->z.avail_out = room;
    int rc = inflate(&p->z, Z_BLOCK);
    uInt out = room - p->z.avail_out;
    uint64_t paid = GZ_DECODER_FOR_EACH_BYTE * (uint64_t)out;
    uint64_t work = gz_work(in - p->z.avail_in, out);
    p->z.avail_out = rest - out;
    p->out += out;
    p->work += work;
    p->idle += work;
    p->idle -= paid < p->idle ? paid : p->idle;
    p->between = rc == Z_STREAM_END;
    gz_note_way(p);
    return rc;
}

gpufl_status gz_decoder_read(struct gz_decoder *d, uint64_t offset, char *buf, size_t cap,
                             uint64_t limit, struct gz_piece *piece)
{
    unsigned char in[CHUNK_BYTES];
    struct gz_point *p = &d->point[d->now];
    const size_t again = gz_point_copy(p, offset, buf, cap);
    const uint64_t spent = again ? gz_window_cost(p) : 0;
    const uint64_t before = p->work;
    gpufl_status status = GPUFL_OK;
    ssize_t n = 1;
    bool over = false;
    d->failed = false;
    p->z.next_out = (unsigned char *)buf + again;
    p->z.avail_out = (uInt)(cap - again);
    while (p->z.avail_out > 0 && p->idle <= GZ_DECODER_IDLE_MAX &&
           p->work - before + spent < limit && (n = gz_fill(d, p, in)) >= 0) {
        const uint64_t out = p->out;
        if (p->between &&
            (n == 0 || !gz_member_begins(d, p) || inflateReset(&p->z) != Z_OK)) {
            over = true;
            break;
        }
        int rc = gz_inflate(p); /* at the end, what zlib had no room for before */
        if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR) {
            status = GPUFL_ERR_FORMAT; /* what was decoded cannot be believed */
            break;
        }
        if (n == 0 && p->out == out) {
            break;
        }
    }
    p->in -= p->z.avail_in;
    p->z.avail_in = 0;
    n = n == 0 && p->z.avail_out == 0 ? 1 : n; /* there may be more of that */
    if (n == 0 && !p->between) {
        p->between = gz_ends_in_zeros(d, p);
    }
    size_t got = cap - p->z.avail_out;
    *piece = (struct gz_piece){.len = status == GPUFL_OK && !d->failed ? got : 0,
                               .work = p->work - before + again,
                               .cut = n == 0 && !p->between,
                               .failed = d->failed};
    if (d->failed) { /* also if that was where another member may begin */
        return GPUFL_ERR_IO;
    }
    if (status != GPUFL_OK || piece->cut || p->idle > GZ_DECODER_IDLE_MAX) {
        return GPUFL_ERR_FORMAT;
    }
    piece->part = !over && n > 0 && got < cap;
    return GPUFL_OK;
}
