/* SPDX-License-Identifier: Apache-2.0 */
/* Lists a directory while its writer renames files. One getdents64(2) holds the lock of
 * the directory, so that what it returns was there at one moment; two in a row may miss a
 * file. */
#include "upload/source/shifting_numbers.h"

#include <errno.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "upload/source/listing.h"

#define FEW_NUMBERS 4u /* that are tried without a look at the directory */

/* btrfs and tmpfs leave out what is renamed between open(2) and getdents64(2); network
 * file systems and overlays read ahead. */
static bool lists_one_moment(const struct sys *sys, int fd)
{
    struct statfs st;
    return sys->fstatfs(fd, &st) == 0 &&
           (st.f_type == EXT4_SUPER_MAGIC || st.f_type == XFS_SUPER_MAGIC);
}

/* \return false if more than one call was needed. */
static bool number_listed(struct listing *listing, const char *channel, uint32_t below,
                          uint32_t *number)
{
    bool again = false;
    *number = 0;
    for (const struct dirent64 *entry; (entry = listing_next(listing));) {
        struct layout_name name = layout_parse(entry->d_name);
        if (again) {
            return false;
        }
        again = listing->at == listing->len; /* the next one takes another call */
        if (name.kind == LAYOUT_NUMBERED && strcmp(name.channel, channel) == 0 &&
            name.number > below && name.number <= SCAN_SHIFTING_MAX &&
            (!*number || name.number < *number)) {
            *number = name.number;
        }
    }
    return !listing->error;
}

bool shifting_number_beyond(const struct sys *sys, const struct tail_where *w,
                            uint32_t below, uint32_t *number)
{
    struct listing listing;
    struct tail_where in;
    int dir = tail_where_enter(sys, w, &in);
    bool known = dir >= 0 && listing_open(&listing, sys, dir, ".") == GPUFL_OK;
    if (known) {
        known = lists_one_moment(sys, listing.fd) &&
                number_listed(&listing, w->channel, below, number);
        listing_close(&listing);
    }
    if (dir >= 0) {
        close(dir);
    }
    return known;
}

int shifting_number_open(const struct sys *sys, const struct tail_where *w,
                         uint32_t number, bool *gz)
{
    int fd = tail_where_open_either(sys, w, number, gz);
    if (fd < 0 && errno == ELOOP) {
        errno = ENOENT;
    }
    return fd;
}

bool shifting_number_is_used(const struct sys *sys, const struct tail_where *w,
                             uint32_t number, bool *failed)
{
    bool gz;
    int fd = shifting_number_open(sys, w, number, &gz);
    if (fd >= 0) {
        close(fd);
        return true;
    }
    *failed = *failed || errno != ENOENT;
    return errno != ENOENT;
}

/* Counting up, a file that moves up is never missed. */
uint32_t shifting_number_highest(const struct sys *sys, const struct tail_where *w,
                                 bool *failed)
{
    uint32_t highest = 0;
    for (uint32_t i = 1; i <= SCAN_SHIFTING_MAX; i++) {
        highest = shifting_number_is_used(sys, w, i, failed) ? i : highest;
    }
    return highest;
}

/* During a rotation a number is free for a moment, and the file below may move up while
 * the numbers are looked at: likewise. */
bool shifting_number_between(const struct sys *sys, const struct tail_where *w,
                             uint32_t below, uint32_t above, bool *failed)
{
    uint32_t first = below + 1;
    uint32_t listed;
    if (above - below > FEW_NUMBERS && shifting_number_beyond(sys, w, below, &listed)) {
        first = listed ? listed : above;
    }
    for (uint32_t i = first; i < above; i++) {
        if (shifting_number_is_used(sys, w, i, failed)) {
            return true;
        }
    }
    return false;
}
