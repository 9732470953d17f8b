/* SPDX-License-Identifier: Apache-2.0 */
/* Lists a directory while its writer renames files. One getdents64(2) holds the lock of
 * the directory, so that what it returns was there at one moment; two in a row may miss a
 * file. */
#include "upload/source/shifting_numbers.h"

#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "upload/source/listing.h"

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
