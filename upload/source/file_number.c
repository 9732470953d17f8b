/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the numbers of files by their names. */
#include "upload/source/file_number.h"

#include <string.h>
#include <unistd.h>

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

static void file_numbers_add(struct file_numbers *some, uint32_t number)
{
    unsigned at = some->count;
    while (at > 0 && some->number[at - 1] > number) {
        at--;
    }
    if (at == FILE_NUMBERS_MAX || (at > 0 && some->number[at - 1] == number)) {
        return; /* beyond, or in both forms */
    }
    some->count += some->count < FILE_NUMBERS_MAX;
    memmove(some->number + at + 1, some->number + at,
            (some->count - at - 1) * sizeof *some->number);
    some->number[at] = number;
}

/* No descriptor stays open between the steps: the kernel tells where the next entry is.
 */
void file_numbers_list(const struct scan_files_of *of, struct file_numbers *some,
                       unsigned names)
{
    struct listing listing;
    const struct dirent64 *entry = NULL;
    some->over = true;
    if (listing_open(&listing, of->sys, of->root, of->path) != GPUFL_OK) {
        return;
    }
    bool there = lseek(listing.fd, some->next_entry, SEEK_SET) >= 0;
    while (there && names-- > 0 && (entry = listing_next(&listing))) {
        struct layout_name name = layout_parse(entry->d_name);
        some->next_entry = entry->d_off;
        if (name.kind == LAYOUT_NUMBERED && strcmp(name.channel, of->channel) == 0 &&
            name.number > some->above && name.number <= some->most) {
            file_numbers_add(some, name.number);
        }
    }
    some->over = !entry;
    listing_close(&listing);
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
