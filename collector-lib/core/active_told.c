/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes are told before they are reached: a reader of an active file that another tool
 * has replaced or compressed learns whether that has all of it. What is read there is of
 * this boot: a power failure may keep it and take the rename. */
#include "collector-lib/core/active_told.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/boot_id.h"
#include "base/crc32c.h"
#include "schema/layout.h"

#define TOLD_MOST (2 * LAYOUT_TOLD_BYTES)

/* `,"<key>":{"device":1,…}`. */
static size_t told_object(char *out, size_t cap, const char *key,
                          const uint64_t value[CHANNEL_COUNT])
{
    size_t len = (size_t)snprintf(out, cap, ",\"%s\":{", key);
    for (int c = 0; c < CHANNEL_COUNT; c++) {
        len += (size_t)snprintf(out + len, cap - len, "%s\"%s\":%" PRIu64, c ? "," : "",
                                channel_name((enum channel)c), value[c]);
    }
    return len + (size_t)snprintf(out + len, cap - len, "}");
}

/* A job may be killed between telling a size and writing; and half a line may be cut off
 * at any time, although the disk takes nothing that would tell so then. */
static size_t told_before(char *out, size_t cap, const struct channel_file *file,
                          enum channel appending, bool torn)
{
    size_t len = (size_t)snprintf(out, cap, ",\"before\":{");
    const char *comma = "";
    for (int c = 0; c < CHANNEL_COUNT; c++) {
        if (c == (int)appending || (torn && file[c].torn_bytes)) {
            len += (size_t)snprintf(out + len, cap - len, "%s\"%s\":%" PRIu64, comma,
                                    channel_name((enum channel)c), file[c].size_bytes);
            comma = ",";
        }
    }
    return len + (size_t)snprintf(out + len, cap - len, "}");
}

/* Inodes count only where the lock file is the one that is named, which it is not in a
 * copy, nor where file systems show other numbers to the reader. */
static size_t told_format(char out[TOLD_MOST], const struct session_lock *lock,
                          const struct channel_file *file, enum channel appending,
                          bool torn)
{
    const size_t cap = TOLD_MOST;
    uint64_t number[CHANNEL_COUNT];
    uint64_t bytes[CHANNEL_COUNT];
    uint64_t inode[CHANNEL_COUNT];
    char boot_id[BOOT_ID_TEXT];
    char name[LAYOUT_LOCK_FILE_TEXT];
    for (int c = 0; c < CHANNEL_COUNT; c++) {
        number[c] = file[c].rotated + 1;
        bytes[c] = file[c].told_bytes;
        inode[c] = file[c].own.inode;
    }
    boot_id_get(boot_id);
    if (lock->lost) {
        snprintf(name, sizeof name, "%s", LAYOUT_LOCK_LOST);
    } else {
        layout_lock_file(name, lock->file.device, lock->file.inode);
    }
    size_t len = (size_t)snprintf(out, cap, "{\"boot_id\":\"%s\",\"lock_file\":\"%s\"",
                                  boot_id, name);
    len += told_object(out + len, cap - len, "active", number);
    len += told_object(out + len, cap - len, "bytes", bytes);
    len += told_before(out + len, cap - len, file, appending, torn);
    len += told_object(out + len, cap - len, "inodes", inode);
    return len + (size_t)snprintf(out + len, cap - len, LAYOUT_TOLD_CRC "%" PRIu32 "}",
                                  crc32c(0, out, len));
}
_Static_assert(LAYOUT_TOLD_BYTES > 506,
               "that is the longest one, with the largest numbers");

/* The size never changes, so one write replaces all of it. */
void active_told_write(const struct session_lock *lock,
                       const struct channel_file file[CHANNEL_COUNT],
                       enum channel appending)
{
    char text[TOLD_MOST];
    size_t len = told_format(text, lock, file, appending, true);
    if (len >= LAYOUT_TOLD_BYTES) {
        len = told_format(text, lock, file, appending, false);
    }
    snprintf(text + len, sizeof text - len, "%*s", (int)(LAYOUT_TOLD_BYTES - len), "\n");
    (void)own_fd_pwrite(&lock->file, text, LAYOUT_TOLD_BYTES, 0);
}
