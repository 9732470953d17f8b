/* SPDX-License-Identifier: Apache-2.0 */
/* Writes and reads the line that names a key. */
#include "upload/published/progress_key.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/file.h"
#include "schema/layout.h"
#include "upload/journal/origin_history.h"

#define KEY_NAME  "key"
#define KEY_LINE  256
#define SALT_TEXT (2 * JOURNAL_SALT + 1)
#define HASH_TEXT (2 * JOURNAL_KEY_HASH + 1)

static void key_text(const unsigned char *bytes, size_t count, char *out)
{
    static const char digit[] = "0123456789abcdef";
    for (size_t i = 0; i < count; i++) {
        *out++ = digit[bytes[i] >> 4];
        *out++ = digit[bytes[i] & 15];
    }
    *out = '\0';
}

static bool key_bytes(const char *text, unsigned char *out, size_t count)
{
    bool whole = strlen(text) == 2 * count;
    for (size_t i = 0; whole && i < count; i++) {
        whole = sscanf(text + 2 * i, "%2hhx", &out[i]) == 1;
    }
    return whole;
}

void progress_key_write(const struct sys *sys, int dir,
                        const struct progress_writer *writer,
                        const struct record_origin *origin, uint32_t *written)
{
    char salt[SALT_TEXT];
    char key[HASH_TEXT];
    char line[KEY_LINE];
    struct file_new file = {.sys = sys, .dir = dir, .temp = KEY_NAME ".tmp"};
    key_text(origin->salt, JOURNAL_SALT, salt);
    key_text(origin->key, JOURNAL_KEY_HASH, key);
    int len =
        snprintf(line, sizeof line,
                 "gpufl-key 1 pid=%d state=%" PRIx64 "-%" PRIx64 " salt=%s key=%s\n",
                 writer->pid, writer->state_device, writer->state_inode, salt, key);
    uint32_t crc = crc32c(0, line, (size_t)len);
    if (!origin->url[0] || crc == *written) {
        return;
    }
    file.fd = file_create(sys, dir, file.temp, 0600); /* never to be read by others */
    (void)file_new_append(&file, line, (size_t)len);
    *written = file_new_take_place(&file, KEY_NAME) ? crc : 0;
}

enum progress_key_match progress_key_compare(const struct sys *sys, int root_fd,
                                             const struct progress_writer *writer,
                                             const unsigned char key[JOURNAL_KEY_HASH])
{
    struct progress_writer of = {0};
    unsigned char salt[JOURNAL_SALT];
    unsigned char told[JOURNAL_KEY_HASH];
    unsigned char ours[JOURNAL_KEY_HASH];
    char salt_told[SALT_TEXT];
    char key_told[HASH_TEXT];
    char *text;
    size_t len;
    if (file_read_owned(sys, root_fd, LAYOUT_PROGRESS_KEY, KEY_LINE, &text, &len) !=
        GPUFL_OK) {
        return PROGRESS_KEY_UNTOLD;
    }
    _Static_assert(SALT_TEXT == 33 && HASH_TEXT == 65, "as read here");
    bool read =
        sscanf(text,
               "gpufl-key 1 pid=%d state=%16" SCNx64 "-%16" SCNx64 " salt=%32s key=%64s",
               &of.pid, &of.state_device, &of.state_inode, salt_told, key_told) == 5 &&
        key_bytes(salt_told, salt, sizeof salt) &&
        key_bytes(key_told, told, sizeof told) && of.pid == writer->pid &&
        of.state_device == writer->state_device && of.state_inode == writer->state_inode;
    free(text);
    if (!read) {
        return PROGRESS_KEY_UNTOLD;
    }
    origin_history_hash(salt, key, ours);
    return memcmp(ours, told, sizeof told) == 0 ? PROGRESS_KEY_SAME : PROGRESS_KEY_OTHER;
}
