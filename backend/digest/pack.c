/* SPDX-License-Identifier: Apache-2.0 */
/* Packs columns of integers and reads them back. */
#include "backend/digest/pack.h"

#define HEAD_BYTES 9u

static void pack_put(unsigned char *at, uint64_t value, unsigned width)
{
    for (unsigned i = 0; i < width; i++) {
        at[i] = (unsigned char)(value >> (8 * i));
    }
}

static uint64_t pack_get(const unsigned char *at, unsigned width)
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

bool pack_column(struct text *to, const int64_t *value, size_t rows)
{
    int64_t min = rows ? value[0] : 0;
    int64_t max = min;
    for (size_t i = 1; i < rows; i++) {
        int64_t v = value[i];
        min = v < min ? v : min;
        max = v > max ? v : max;
    }
    unsigned width = width_of((uint64_t)max - (uint64_t)min);
    if (!text_reserve(to, HEAD_BYTES + rows * width)) {
        return false;
    }
    unsigned char *at = (unsigned char *)to->data + to->len;
    pack_put(at, (uint64_t)min, 8);
    at[8] = (unsigned char)width;
    for (size_t i = 0; width && i < rows; i++) {
        pack_put(at + HEAD_BYTES + i * width, (uint64_t)value[i] - (uint64_t)min, width);
    }
    to->len += HEAD_BYTES + rows * width;
    return true;
}

bool pack_read_column(const struct text *from, size_t rows, unsigned index, int64_t *out)
{
    const unsigned char *data = (const unsigned char *)from->data;
    size_t len = from->len;
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
    uint64_t min = pack_get(data, 8);
    for (size_t i = 0; i < rows; i++) {
        out[i] = (int64_t)(min + pack_get(data + HEAD_BYTES + i * data[8], data[8]));
    }
    return true;
}
