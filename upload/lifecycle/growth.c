/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the sizes of a complete session's files with where they were sent to. Only
 * sizes are asked, because there may be very many such sessions. */
#include "upload/lifecycle/growth.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "schema/layout.h"

/* Where a channel of the session was sent to; all zero for one that had no file. */
struct growth_channel {
    const struct root *root;
    const char *path;
    const char *name;
    struct parked_stream at;
};

/* \p number 0 = the active file. \return its size, 0 without one. */
static uint64_t growth_bytes(const struct growth_channel *c, uint32_t number, bool gz)
{
    struct stat st;
    char name[LAYOUT_PATH_MAX];
    char path[JOURNAL_PATH_MAX + LAYOUT_PATH_MAX];
    if (number) {
        layout_numbered(name, c->name, number, gz);
    } else {
        layout_active(name, c->name, gz);
    }
    snprintf(path, sizeof path, "%s/%s", c->path, name);
    return fstatat(c->root->fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                   S_ISREG(st.st_mode)
               ? (uint64_t)st.st_size
               : 0;
}

/* \return how much there is that was not sent, in bytes of files as they lie on disk. */
static uint64_t growth_of_channel(const struct growth_channel *c)
{
    uint64_t active = growth_bytes(c, 0, false);
    uint64_t offset = c->at.offset;
    if (c->at.kind == STREAM_VERBATIM) {
        return growth_bytes(c, c->at.file, true) + growth_bytes(c, c->at.file, false);
    }
    uint64_t sealed = c->at.head || !c->at.file ? 0 : growth_bytes(c, c->at.file, false);
    if (sealed) {
        return (sealed == offset ? 0 : sealed) + active;
    }
    return active == offset ? 0 : active;
}

bool growth_of(const struct root *root, struct parked_session *s)
{
    uint64_t bytes = 1;
    bool ended = false;
    for (unsigned i = 0; i < root->channels.count; i++) {
        struct growth_channel c = {
            .root = root, .path = s->node.path, .name = root->channels.name[i]};
        for (unsigned k = 0; k < s->streams; k++) {
            if (s->stream[k].channel == i) {
                c.at = s->stream[k];
                ended = ended || c.at.marks & MARK_ENDED;
            }
        }
        bytes += growth_of_channel(&c);
    }
    /* What a person gave up of a file is no growth. */
    bool grew = bytes != 1 && bytes != s->bytes && !(ended && s->bytes == 0);
    s->bytes = bytes;
    return grew;
}
