/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the blocks of RFC 1951 by hand: zlib makes none that are empty. */
#include "tests/support/gz_costly.h"

#include "tests/support/check.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "upload/http/encode.h"

/* A dynamic block without literals; so many of them end at a byte. Its bits, from the
 * lowest on. */
#define BLOCK_BITS 92u
static const unsigned char empty_block[12] = {0x04, 0xc0, 0x81, 0x08, 0x00, 0x00,
                                              0x00, 0x00, 0x20, 0x7f, 0xeb, 0x03};

static void costly_group(char group[GZ_COSTLY_GROUP_BYTES])
{
    memset(group, 0, GZ_COSTLY_GROUP_BYTES);
    for (unsigned i = 0; i < GZ_COSTLY_GROUP * BLOCK_BITS; i++) {
        unsigned from = i % BLOCK_BITS;
        unsigned bit = (unsigned)empty_block[from / 8] >> from % 8 & 1u;
        group[i / 8] = (char)((unsigned char)group[i / 8] | bit << i % 8);
    }
}

static void costly_stored(struct text *to, const char *data, size_t len, bool last)
{
    const unsigned char head[5] = {last, (unsigned char)len, (unsigned char)(len >> 8),
                                   (unsigned char)~len, (unsigned char)(~len >> 8)};
    text_append(to, (const char *)head, sizeof head);
    text_append(to, data, len);
}

static void costly_number(struct text *to, uint32_t number)
{
    for (unsigned i = 0; i < 4; i++) {
        char byte = (char)(number >> (8 * i));
        text_append(to, &byte, 1);
    }
}

void gz_costly_make(const char *dir, const char *name, const char *line, unsigned lines,
                    unsigned groups)
{
    char path[600];
    char group[GZ_COSTLY_GROUP_BYTES];
    struct text all = {0};
    size_t len = strlen(line);
    uint32_t crc = 0;
    costly_group(group);
    text_append(&all, "\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
    for (unsigned i = 0; i < lines; i++) {
        costly_stored(&all, line, len, false);
        crc = encode_crc32(crc, line, len);
        for (unsigned k = 0; k < groups; k++) {
            text_append(&all, group, sizeof group);
        }
    }
    costly_stored(&all, "", 0, true);
    costly_number(&all, crc);
    costly_number(&all, (uint32_t)(lines * len));
    snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, all.data, all.len), all.len);
    close(fd);
    text_fini(&all);
}
