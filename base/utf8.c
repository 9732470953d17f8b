/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises well-formed UTF-8. */
#include "base/utf8.h"

size_t utf8_length(const char *s, size_t left)
{
    static const struct {
        unsigned char first, last, second_min, second_max;
        size_t len;
    } row[] = {
        {0x00, 0x7f, 0x00, 0xff, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2},
        {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
        {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4},
        {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    const unsigned char *c = (const unsigned char *)s;
    for (size_t i = 0; left && i < sizeof row / sizeof row[0]; i++) {
        if (c[0] < row[i].first || c[0] > row[i].last) {
            continue;
        }
        if (row[i].len > left ||
            (row[i].len > 1 && (c[1] < row[i].second_min || c[1] > row[i].second_max))) {
            return 0;
        }
        for (size_t k = 2; k < row[i].len; k++) {
            if ((c[k] & 0xc0) != 0x80) {
                return 0;
            }
        }
        return row[i].len;
    }
    return 0;
}
