/* SPDX-License-Identifier: Apache-2.0 */
/* Makes and reads the bytes of a journal file; opens nothing. */
#include "upload/journal/journal_format.h"

#include <string.h>

#include "base/bytes.h"
#include "base/crc32c.h"

/* The head of a record. */
struct journal_frame {
    uint32_t len, crc, type;
    uint64_t number;
};

static size_t padded_to_8(size_t len)
{
    return (len + 7) & ~(size_t)7;
}

static uint32_t frame_crc(const struct journal_frame *f, const unsigned char *payload)
{
    unsigned char head[16];
    struct bytes b = {.at = head, .left = sizeof head};
    bytes_put_uint(&b, f->number, 8);
    bytes_put_uint(&b, f->type, 4);
    bytes_put_uint(&b, f->len, 4);
    return crc32c(crc32c(0, head, sizeof head), payload, f->len);
}

size_t journal_format_put_record(unsigned char *out, uint64_t number, uint32_t type,
                                 const void *payload, size_t len)
{
    struct journal_frame f = {.len = (uint32_t)len, .type = type, .number = number};
    size_t padded = padded_to_8(len);
    struct bytes b = {.at = out, .left = JOURNAL_FRAME_BYTES};
    bytes_put_uint(&b, JOURNAL_FRAME_MAGIC, 4);
    bytes_put_uint(&b, f.len, 4);
    bytes_put_uint(&b, f.number, 8);
    bytes_put_uint(&b, frame_crc(&f, payload), 4);
    bytes_put_uint(&b, type, 4);
    memcpy(out + JOURNAL_FRAME_BYTES, payload, len);
    memset(out + JOURNAL_FRAME_BYTES + len, 0, padded - len);
    return JOURNAL_FRAME_BYTES + padded;
}

static size_t header_size(size_t root_len)
{
    return JOURNAL_HEADER_BYTES + padded_to_8(root_len);
}

/* Where the second header stands. */
static size_t second_header(size_t root_len)
{
    size_t pages = (header_size(root_len) + JOURNAL_PAGE_BYTES - 1) / JOURNAL_PAGE_BYTES;
    return pages * JOURNAL_PAGE_BYTES;
}

size_t journal_format_put_start(unsigned char *out, uint32_t generation, const char *root)
{
    size_t root_len = strlen(root);
    if (root_len > JOURNAL_ROOT_MAX) {
        return 0;
    }
    size_t second = second_header(root_len);
    struct bytes b = {.at = out, .left = JOURNAL_HEADER_BYTES};
    memset(out, 0, second);
    bytes_put(&b, JOURNAL_FILE_MAGIC, 8);
    bytes_put_uint(&b, JOURNAL_FORMAT_VERSION, 4);
    bytes_put_uint(&b, generation, 4);
    bytes_put_uint(&b, root_len, 4);
    bytes_put_uint(&b, crc32c(crc32c(0, out, JOURNAL_HEADER_BYTES - 4), root, root_len),
                   4);
    memcpy(out + JOURNAL_HEADER_BYTES, root, root_len);
    memcpy(out + second, out, header_size(root_len));
    return second + header_size(root_len);
}

/* JOURNAL_FRAME_MAGIC as it stands in the file. */
static const unsigned char frame_begin[4] = {'G', 'R', 'J', '1'};

/* A whole, intact record at \p data. */
static bool read_frame(const unsigned char *data, size_t left, struct journal_frame *f)
{
    if (left < JOURNAL_FRAME_BYTES) {
        return false;
    }
    if (memcmp(data, frame_begin, sizeof frame_begin) != 0) {
        return false; /* as nearly all of a file is that was allocated ahead */
    }
    struct bytes b = {.at = (unsigned char *)(uintptr_t)data + sizeof frame_begin,
                      .left = JOURNAL_FRAME_BYTES - sizeof frame_begin};
    f->len = (uint32_t)bytes_get_uint(&b, 4);
    f->number = bytes_get_uint(&b, 8);
    f->crc = (uint32_t)bytes_get_uint(&b, 4);
    f->type = (uint32_t)bytes_get_uint(&b, 4);
    return f->len <= JOURNAL_MAX_PAYLOAD &&
           padded_to_8(f->len) <= left - JOURNAL_FRAME_BYTES &&
           frame_crc(f, data + JOURNAL_FRAME_BYTES) == f->crc;
}

/* A header as it was read. */
struct journal_header {
    uint32_t version, generation;
    const char *root;
    size_t root_len;
};

static bool read_header(const unsigned char *data, size_t len, size_t at,
                        struct journal_header *h)
{
    if (at > len || len - at < JOURNAL_HEADER_BYTES ||
        memcmp(data + at, JOURNAL_FILE_MAGIC, 8) != 0) {
        return false;
    }
    struct bytes b = {.at = (unsigned char *)(uintptr_t)data + at + 8,
                      .left = JOURNAL_HEADER_BYTES - 8};
    h->version = (uint32_t)bytes_get_uint(&b, 4);
    h->generation = (uint32_t)bytes_get_uint(&b, 4);
    h->root = (const char *)data + at + JOURNAL_HEADER_BYTES;
    h->root_len = (size_t)bytes_get_uint(&b, 4);
    uint32_t crc = (uint32_t)bytes_get_uint(&b, 4);
    return h->root_len <= JOURNAL_ROOT_MAX && header_size(h->root_len) <= len - at &&
           crc32c(crc32c(0, data + at, JOURNAL_HEADER_BYTES - 4), h->root, h->root_len) ==
               crc;
}

/* The first header, or the second one, which stands behind one page or two. */
static bool find_header(const unsigned char *data, size_t len, struct journal_header *h)
{
    if (read_header(data, len, 0, h)) {
        return true;
    }
    for (size_t at = JOURNAL_PAGE_BYTES; at <= 2 * JOURNAL_PAGE_BYTES;
         at += JOURNAL_PAGE_BYTES) {
        if (read_header(data, len, at, h) && second_header(h->root_len) == at) {
            return true;
        }
    }
    return false;
}

static gpufl_status parse_header(const unsigned char *data, size_t len,
                                 struct journal_parsed *out)
{
    struct journal_header h;
    struct journal_header other;
    *out = (struct journal_parsed){0};
    if (!find_header(data, len, &h) || h.version > JOURNAL_FORMAT_VERSION) {
        return GPUFL_ERR_FORMAT;
    }
    size_t second = h.version == 1 ? 0 : second_header(h.root_len);
    size_t end = second + header_size(h.root_len);
    out->generation = h.generation;
    out->names_no_origin = h.version < 3;
    memcpy(out->root, h.root, h.root_len);
    out->end = end < len ? end : len;
    out->header_damaged =
        !read_header(data, len, 0, &other) || !read_header(data, len, second, &other);
    return GPUFL_OK;
}

/* Moves what is left from \p at on to the front, and fills the rest. */
static gpufl_status window_fill(struct journal_window *w, size_t *at)
{
    memmove(w->bytes, w->bytes + *at, w->len - *at);
    w->len -= *at;
    *at = 0;
    ssize_t n = w->part(w->arg, w->bytes + w->len, w->room - w->len);
    if (n < 0) {
        return GPUFL_ERR_IO;
    }
    w->len += (size_t)n;
    w->part = w->len < w->room ? NULL : w->part;
    return GPUFL_OK;
}

gpufl_status journal_format_replay(struct journal_window *w, journal_replay_fn replay,
                                   void *arg, struct journal_parsed *out)
{
    struct journal_frame f;
    size_t at = 0;
    gpufl_status status = w->part ? window_fill(w, &at) : GPUFL_OK;
    status = status == GPUFL_OK ? parse_header(w->bytes, w->len, out) : status;
    uint64_t begin = 0; /* of the window */
    bool lost = false;  /* no record begins where one should */
    at = (size_t)out->end;
    while (status == GPUFL_OK) {
        if (w->part && w->len - at < JOURNAL_RECORD_MAX) {
            begin += at;
            status = window_fill(w, &at);
            continue;
        }
        if (read_frame(w->bytes + at, w->len - at, &f) && f.number > out->last) {
            struct journal_record record = {.type = f.type,
                                            .payload =
                                                w->bytes + at + JOURNAL_FRAME_BYTES,
                                            .len = f.len};
            replay(arg, &record);
            out->damaged = out->damaged || lost;
            lost = false;
            out->last = f.number;
            at += JOURNAL_FRAME_BYTES + padded_to_8(f.len);
            out->end = begin + at;
        } else if (w->len - at >= 8 + JOURNAL_FRAME_BYTES) {
            lost = true; /* what follows is looked through for the next one */
            at += 8 - at % 8;
        } else {
            break;
        }
    }
    return status;
}

gpufl_status journal_format_parse(const unsigned char *data, size_t len,
                                  journal_replay_fn replay, void *arg,
                                  struct journal_parsed *out)
{
    struct journal_window window = {
        .bytes = (unsigned char *)(uintptr_t)data, .len = len, .room = len};
    return journal_format_replay(&window, replay, arg, out);
}

/* Where no header is intact, what its version says is believed: a newer format may have
 * others. */
bool journal_format_is_newer(const unsigned char *data, size_t len)
{
    struct journal_header h;
    struct bytes b = {.at = (unsigned char *)(uintptr_t)data + 8, .left = 4};
    if (find_header(data, len, &h)) {
        return h.version > JOURNAL_FORMAT_VERSION;
    }
    return len >= 12 && memcmp(data, JOURNAL_FILE_MAGIC, 8) == 0 &&
           bytes_get_uint(&b, 4) > JOURNAL_FORMAT_VERSION;
}
