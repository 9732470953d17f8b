/* SPDX-License-Identifier: Apache-2.0 */
/* Notices that a session was named where the directory of sessions is expected: its files
 * are not looked for there, and nothing to send would pass for everything sent. */
#include "upload/source/session_root.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema/channels.h"
#include "schema/layout.h"
#include "upload/source/listing.h"
#include "upload/source/select.h"

static bool is_file_of_session(const char *file)
{
    struct layout_name name = layout_parse(file);
    bool known = channel_is_known(name.channel);
    switch (name.kind) {
    case LAYOUT_IS_MANIFEST:
    case LAYOUT_IS_LOCK:
        return true;
    case LAYOUT_ACTIVE:
    case LAYOUT_NUMBERED:
    case LAYOUT_SIDECAR:
        return known;
    default:
        return false;
    }
}

/* Where others may write, they could plant a file to keep the uploader away. */
static bool is_of_owner(int dir, const char *file)
{
    struct stat own;
    struct stat st;
    return fstat(dir, &own) == 0 && fstatat(dir, file, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(st.st_mode) && st.st_nlink == 1 && st.st_uid == own.st_uid;
}

static bool has_files_of_session(const struct sys *sys, int dir)
{
    struct listing listing;
    bool found = false;
    if (listing_open(&listing, sys, dir, ".") != GPUFL_OK) {
        return false;
    }
    for (const struct dirent64 *entry; !found && (entry = listing_next(&listing));) {
        found = is_file_of_session(entry->d_name) && is_of_owner(dir, entry->d_name);
    }
    listing_close(&listing);
    return found;
}

static bool has_sessions(const struct sys *sys, int dir)
{
    struct selection sessions;
    if (select_list(sys, dir, 0, &sessions) != GPUFL_OK) {
        return false;
    }
    bool any = sessions.count > 0;
    select_free(&sessions);
    return any;
}

bool session_root_is_session(const struct sys *sys, const char *path, const char *also,
                             char why[512])
{
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool is = dir >= 0 && has_files_of_session(sys, dir) && !has_sessions(sys, dir);
    char *real = is ? realpath(path, NULL) : NULL;
    char *slash = real ? strrchr(real, '/') : NULL;
    if (is && slash) {
        snprintf(
            why, 512,
            "'%.150s': it is a session (give the directory that holds it, %.*s%s%s%s)",
            path, slash == real ? 1 : (int)(slash - real < 200 ? slash - real : 200),
            real, also[0] ? ", and " : "", also, also[0] ? slash + 1 : "");
    } else if (is) {
        snprintf(why, 512, "'%.150s': it is a session (give the directory that holds it)",
                 path);
    }
    free(real);
    if (dir >= 0) {
        close(dir);
    }
    return is;
}
