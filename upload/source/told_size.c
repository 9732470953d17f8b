/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a position with the size that the writer told. */
#include "upload/source/told_size.h"

#include <unistd.h>

#include "upload/source/told.h"

/* Of the file after the one that it names, nothing was written yet. */
static bool told_size_reached(const struct active_files *told, const struct tail_where *w)
{
    enum channel c = channel_named(w->channel);
    if (c == CHANNEL_COUNT || told->number[c] == 0 || told->bytes[c] < 0) {
        return false;
    }
    return told->number[c] < w->file ||
           (told->number[c] == w->file && (uint64_t)told->bytes[c] <= w->offset);
}

bool told_size_is_reached(const struct sys *sys, const struct tail_where *w)
{
    struct tail_where in;
    struct active_files told;
    int dir = tail_where_enter(sys, w, &in);
    bool now = false;
    bool reached = dir >= 0 && told_read(sys, dir, &told, &now) && now &&
                   told_size_reached(&told, w);
    if (dir >= 0) {
        close(dir);
    }
    return reached;
}
