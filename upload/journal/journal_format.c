/* SPDX-License-Identifier: Apache-2.0 */
/* Makes and reads the bytes of a journal file; opens nothing. */
#include "upload/journal/journal_format.h"

#include <string.h>

#include "base/bytes.h"
#include "base/crc32c.h"

/* The head of a record. */
struct journal_frame {
    uint32_t magic, len, crc, type;
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

size_t journal_format_put_start(unsigned char *out, uint32_t generation, const char *root)
{
    size_t root_len = strlen(root);
    if (root_len > JOURNAL_ROOT_MAX) {
        return 0;
    }
    size_t padded = padded_to_8(root_len);
    struct bytes b = {.at = out, .left = JOURNAL_HEADER_BYTES};
    bytes_put(&b, JOURNAL_FILE_MAGIC, 8);
    bytes_put_uint(&b, JOURNAL_FORMAT_VERSION, 4);
    bytes_put_uint(&b, generation, 4);
    bytes_put_uint(&b, root_len, 4);
    bytes_put_uint(&b, crc32c(crc32c(0, out, JOURNAL_HEADER_BYTES - 4), root, root_len),
                   4);
    memset(out + JOURNAL_HEADER_BYTES, 0, padded);
    memcpy(out + JOURNAL_HEADER_BYTES, root, root_len);
    return JOURNAL_HEADER_BYTES + padded;
}

/* A whole, intact record at \p data. */
static bool read_frame(const unsigned char *data, size_t left, struct journal_frame *f)
{
    if (left < JOURNAL_FRAME_BYTES) {
        return false;
    }
    struct bytes b = {.at = (unsigned char *)(uintptr_t)data,
                      .left = JOURNAL_FRAME_BYTES};
    f->magic = (uint32_t)bytes_get_uint(&b, 4);
    f->len = (uint32_t)bytes_get_uint(&b, 4);
    f->number = bytes_get_uint(&b, 8);
    f->crc = (uint32_t)bytes_get_uint(&b, 4);
    f->type = (uint32_t)bytes_get_uint(&b, 4);
    return f->magic == JOURNAL_FRAME_MAGIC && f->len <= JOURNAL_MAX_PAYLOAD &&
           padded_to_8(f->len) <= left - JOURNAL_FRAME_BYTES &&
           frame_crc(f, data + JOURNAL_FRAME_BYTES) == f->crc;
}

/* The next intact record behind \p at that is newer than \p number. */
static bool resynchronise(const unsigned char *data, size_t len, size_t *at,
                          uint64_t number)
{
    struct journal_frame f;
    for (size_t i = (*at + 8) & ~(size_t)7; i + JOURNAL_FRAME_BYTES <= len; i += 8) {
        if (read_frame(data + i, len - i, &f) && f.number > number) {
            *at = i;
            return true;
        }
    }
    return false;
}

static gpufl_status parse_header(const unsigned char *data, size_t len,
                                 struct journal_parsed *out)
{
    *out = (struct journal_parsed){0};
    if (len < JOURNAL_HEADER_BYTES || memcmp(data, JOURNAL_FILE_MAGIC, 8) != 0) {
        return GPUFL_ERR_FORMAT;
    }
    struct bytes b = {.at = (unsigned char *)(uintptr_t)data + 8,
                      .left = JOURNAL_HEADER_BYTES - 8};
    uint32_t version = (uint32_t)bytes_get_uint(&b, 4);
    out->generation = (uint32_t)bytes_get_uint(&b, 4);
    out->root = (const char *)data + JOURNAL_HEADER_BYTES;
    out->root_len = (size_t)bytes_get_uint(&b, 4);
    uint32_t crc = (uint32_t)bytes_get_uint(&b, 4);
    if (version > JOURNAL_FORMAT_VERSION || out->root_len > JOURNAL_ROOT_MAX ||
        padded_to_8(out->root_len) > len - JOURNAL_HEADER_BYTES ||
        crc32c(crc32c(0, data, JOURNAL_HEADER_BYTES - 4), out->root, out->root_len) !=
            crc) {
        return GPUFL_ERR_FORMAT;
    }
    out->end = JOURNAL_HEADER_BYTES + padded_to_8(out->root_len);
    return GPUFL_OK;
}

gpufl_status journal_format_parse(const unsigned char *data, size_t len,
                                  journal_replay_fn replay, void *arg,
                                  struct journal_parsed *out)
{
    struct journal_frame f;
    gpufl_status status = parse_header(data, len, out);
    if (status != GPUFL_OK) {
        return status;
    }
    for (size_t at = out->end;;) {
        if (!read_frame(data + at, len - at, &f) || f.number <= out->last) {
            if (!resynchronise(data, len, &at, out->last)) {
                break;
            }
            out->damaged = true;
            continue;
        }
        struct journal_record record = {
            .type = f.type, .payload = data + at + JOURNAL_FRAME_BYTES, .len = f.len};
        replay(arg, &record);
        out->last = f.number;
        at += JOURNAL_FRAME_BYTES + padded_to_8(f.len);
        out->end = at;
    }
    return GPUFL_OK;
}

bool journal_format_is_newer(const unsigned char *data, size_t len)
{
    struct bytes b = {.at = (unsigned char *)(uintptr_t)data + 8, .left = 4};
    return len >= 12 && memcmp(data, JOURNAL_FILE_MAGIC, 8) == 0 &&
           bytes_get_uint(&b, 4) > JOURNAL_FORMAT_VERSION;
}
