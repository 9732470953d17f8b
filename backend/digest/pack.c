/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/digest/pack.h"

#include <stdlib.h>

#define HEAD_BYTES 9u

static void put(unsigned char *at, uint64_t value, unsigned width)
{
    for (unsigned i = 0; i < width; i++) {
        at[i] = (unsigned char)(value >> (8 * i));
    }
}

static uint64_t get(const unsigned char *at, unsigned width)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++) {
        value |= (uint64_t)at[i] << (8 * i);
    }
    return value;
}

static unsigned width_of(uint64_t span)
{
    return span == 0            ? 0
           : span <= UINT8_MAX  ? 1
           : span <= UINT16_MAX ? 2
           : span <= UINT32_MAX ? 4
                                : 8;
}

static bool reserve(struct packed *to, size_t more)
{
    if (to->cap - to->len >= more) {
        return true;
    }
    size_t cap = 2 * to->cap + more;
    unsigned char *data = realloc(to->data, cap);
    if (!data) {
        return false;
    }
    to->data = data;
    to->cap = cap;
    return true;
}

bool pack_column(struct packed *to, const int64_t *value, size_t rows)
{
    int64_t min = rows ? value[0] : 0;
    int64_t max = min;
    for (size_t i = 1; i < rows; i++) {
        int64_t v = value[i];
        min = v < min ? v : min;
        max = v > max ? v : max;
    }
    unsigned width = width_of((uint64_t)max - (uint64_t)min);
    if (!reserve(to, HEAD_BYTES + rows * width)) {
        return false;
    }
    unsigned char *at = to->data + to->len;
    put(at, (uint64_t)min, 8);
    at[8] = (unsigned char)width;
    for (size_t i = 0; width && i < rows; i++) {
        put(at + HEAD_BYTES + i * width, (uint64_t)value[i] - (uint64_t)min, width);
    }
    to->len += HEAD_BYTES + rows * width;
    return true;
}

bool unpack_column(const unsigned char *data, size_t len, size_t rows, unsigned index,
                   int64_t *out)
{
    for (;; index--) {
        unsigned width = len < HEAD_BYTES ? UINT8_MAX : data[8];
        if (width > 8 || (width && rows > (len - HEAD_BYTES) / width)) {
            return false;
        }
        size_t bytes = rows * width;
        if (index == 0) {
            break;
        }
        data += HEAD_BYTES + bytes;
        len -= HEAD_BYTES + bytes;
    }
    uint64_t min = get(data, 8);
    for (size_t i = 0; i < rows; i++) {
        out[i] = (int64_t)(min + get(data + HEAD_BYTES + i * data[8], data[8]));
    }
    return true;
}
