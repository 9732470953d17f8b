/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the files of a session with what the upload cursor says of it. */
#include "upload/engine/sent_elsewhere.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "upload/core/session.h"
#include "upload/engine/upload_cursor.h"
#include "upload/source/listing.h"

/* When its newest file was last written, in seconds of 1970; INT64_MAX if that cannot be
 * said. */
static int64_t newest_file_s(const struct session *session)
{
    const struct root *root = session->root;
    struct listing listing;
    int64_t newest = 0;
    if (listing_open(&listing, root->engine->config.sys, root->fd, session->path) !=
        GPUFL_OK) {
        return INT64_MAX;
    }
    for (const struct dirent64 *entry; (entry = listing_next(&listing));) {
        struct stat st;
        enum layout_kind kind = layout_parse(entry->d_name).kind;
        if (kind != LAYOUT_ACTIVE && kind != LAYOUT_NUMBERED) {
            continue;
        }
        if (fstatat(listing.fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
            newest = INT64_MAX;
        } else if (st.st_mtim.tv_sec > newest) {
            newest = st.st_mtim.tv_sec;
        }
    }
    newest = listing.error ? INT64_MAX : newest;
    listing_close(&listing);
    return newest;
}

bool sent_elsewhere(const struct session *session)
{
    int64_t completed_s;
    return session_writer_is_gone(session) &&
           upload_cursor_find(session->root, session->id, &completed_s) &&
           newest_file_s(session) <= completed_s;
}
