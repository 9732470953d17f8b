/* SPDX-License-Identifier: Apache-2.0 */
/* Makes, writes and reads UUIDs. */
#include "base/uuid.h"

#include <string.h>

void uuid_make(const struct sys *sys, unsigned char out[16])
{
    unsigned char random[16];
    sys->random(random, sizeof random);
    uuid_of(random, out);
}

void uuid_of(const unsigned char random[16], unsigned char out[16])
{
    memcpy(out, random, 16);
    out[6] = (unsigned char)((out[6] & 0x0f) | 0x40);
    out[8] = (unsigned char)((out[8] & 0x3f) | 0x80);
}

static bool dash_before(int i)
{
    return i == 4 || i == 6 || i == 8 || i == 10;
}

void uuid_format(const unsigned char id[16], char out[UUID_TEXT])
{
    static const char digit[] = "0123456789abcdef";
    char *at = out;
    for (int i = 0; i < 16; i++) {
        if (dash_before(i)) {
            *at++ = '-';
        }
        *at++ = digit[id[i] >> 4];
        *at++ = digit[id[i] & 15];
    }
    *at = '\0';
}

static int hex(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool uuid_parse(const char *text, unsigned char out[16])
{
    if (strnlen(text, UUID_TEXT) != 36) {
        return false;
    }
    for (int i = 0; i < 16; i++) {
        if (dash_before(i) && *text++ != '-') {
            return false;
        }
        int high = hex(text[0]);
        int low = high < 0 ? -1 : hex(text[1]);
        if (low < 0) {
            return false;
        }
        out[i] = (unsigned char)(high << 4 | low);
        text += 2;
    }
    return true;
}
