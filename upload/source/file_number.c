/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the numbers of files by their names. */
#include "upload/source/file_number.h"

#include <string.h>

#include "upload/source/listing.h"

/* Only a seal makes the number that comes before, and the name goes as soon as the file
 * is begun. A lower number is of an earlier rotation, a higher one of a seal that failed.
 * A compressed file is of an earlier number: see told_is_earlier(). */
uint32_t file_number_unbegun(const struct scan *scan, const char *channel)
{
    enum channel index = channel_named(channel);
    const struct scan_channel *seen = scan_find_channel(scan, channel);
    uint32_t next = index != CHANNEL_COUNT ? scan->next[index] : 0;
    return seen && seen->highest + 1 == next && scan->layout == SESSION_LIVE &&
                   !seen->has_active
               ? next
               : 0;
}

static void file_number_add(uint32_t *some, unsigned *count, unsigned cap,
                            uint32_t number)
{
    unsigned at = *count;
    while (at > 0 && some[at - 1] > number) {
        at--;
    }
    if (at == cap || (at > 0 && some[at - 1] == number)) {
        return; /* in both forms, or beyond */
    }
    *count += *count < cap;
    memmove(some + at + 1, some + at, (*count - at - 1) * sizeof *some);
    some[at] = number;
}

unsigned file_number_some(const struct scan_files_of *of, uint32_t above, uint32_t *some,
                          unsigned cap)
{
    struct listing listing;
    unsigned count = 0;
    if (listing_open(&listing, of->sys, of->root, of->path) != GPUFL_OK) {
        return 0;
    }
    for (const struct dirent64 *entry; (entry = listing_next(&listing));) {
        struct layout_name name = layout_parse(entry->d_name);
        if (name.kind == LAYOUT_NUMBERED && strcmp(name.channel, of->channel) == 0 &&
            name.number > above) {
            file_number_add(some, &count, cap, name.number);
        }
    }
    listing_close(&listing);
    return count;
}

uint32_t file_number_next(const struct scan_files_of *of, uint32_t above)
{
    struct listing listing;
    uint32_t next = 0;
    if (listing_open(&listing, of->sys, of->root, of->path) != GPUFL_OK) {
        return 0;
    }
    for (const struct dirent64 *entry; (entry = listing_next(&listing));) {
        struct layout_name name = layout_parse(entry->d_name);
        bool numbered = of->windows
                            ? name.kind == LAYOUT_SIDECAR || name.kind == LAYOUT_NUMBERED
                            : name.kind == LAYOUT_NUMBERED;
        if (numbered && strcmp(name.channel, of->channel) == 0 && name.number > above &&
            (next == 0 || name.number < next) &&
            (!of->accepts || of->accepts(of->arg, name.number))) {
            next = name.number;
        }
    }
    listing_close(&listing);
    return next;
}
