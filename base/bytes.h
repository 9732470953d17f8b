/* SPDX-License-Identifier: Apache-2.0 */
/* Little-endian fields of the journal, written and read with bounds. */
#ifndef GPUFL_BASE_BYTES_H
#define GPUFL_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** A cursor over a buffer. `bad` stays true after the first field that did not fit. */
struct bytes {
    unsigned char *at;
    size_t left;
    bool bad;
};

static inline void bytes_put(struct bytes *b, const void *data, size_t len)
{
    if (b->bad || b->left < len) {
        b->bad = true;
        return;
    }
    memcpy(b->at, data, len);
    b->at += len;
    b->left -= len;
}

static inline void bytes_get(struct bytes *b, void *data, size_t len)
{
    if (b->bad || b->left < len) {
        b->bad = true;
        memset(data, 0, len);
        return;
    }
    memcpy(data, b->at, len);
    b->at += len;
    b->left -= len;
}

static inline void bytes_put_uint(struct bytes *b, uint64_t value, size_t size)
{
    unsigned char raw[8];
    for (size_t i = 0; i < size; i++) {
        raw[i] = (unsigned char)(value >> (8 * i));
    }
    bytes_put(b, raw, size);
}

static inline uint64_t bytes_get_uint(struct bytes *b, size_t size)
{
    unsigned char raw[8] = {0};
    uint64_t value = 0;
    bytes_get(b, raw, size);
    for (size_t i = 0; i < size; i++) {
        value |= (uint64_t)raw[i] << (8 * i);
    }
    return value;
}

/** A string behind its 16-bit length; NUL-terminated when read back. */
static inline void bytes_put_string(struct bytes *b, const char *text)
{
    size_t len = strlen(text);
    if (len > UINT16_MAX) {
        b->bad = true;
        return;
    }
    bytes_put_uint(b, len, 2);
    bytes_put(b, text, len);
}

static inline void bytes_get_string(struct bytes *b, char *out, size_t cap)
{
    size_t len = (size_t)bytes_get_uint(b, 2);
    out[0] = '\0';
    if (b->bad || len >= cap) {
        b->bad = true;
        return;
    }
    bytes_get(b, out, len);
    out[b->bad ? 0 : len] = '\0';
}

#endif
