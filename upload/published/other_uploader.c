/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at the lock and the state directory of a directory. */
#include "upload/published/other_uploader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema/layout.h"
#include "upload/published/run_dir.h"

bool other_uploader_locks(int dir)
{
    bool locked = flock(dir, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
    if (!locked) {
        flock(dir, LOCK_UN);
    }
    return locked;
}

bool other_uploader_has_say(int dir, enum lock_viewer viewer)
{
    return !lock_holder_is_foreign(dir, viewer) || run_dir_is_served(dir);
}

/* Where several users can write, anybody can make the name of a journal. */
static bool other_uploader_has_journal(int dir)
{
    struct stat group, journal;
    return fstat(dir, &group) == 0 &&
           fstatat(dir, LAYOUT_STATE_DIR, &journal, AT_SYMLINK_NOFOLLOW) == 0 &&
           (journal.st_uid == group.st_uid || journal.st_uid == 0 ||
            journal.st_uid == geteuid());
}

/* To leave a group out hides the sessions in it, so the holder must have a say there. */
bool other_uploader_has_group(int dir, enum lock_viewer viewer)
{
    return (other_uploader_locks(dir) && other_uploader_has_say(dir, viewer)) ||
           other_uploader_has_journal(dir);
}

bool other_uploader_keeps(const struct state_place *place)
{
    char lock[STATE_NAME_MAX + 8];
    snprintf(lock, sizeof lock, "%s.lock", place->name);
    int fd = openat(place->fd, lock,
                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    bool locked = fd >= 0 && other_uploader_locks(fd);
    if (fd >= 0) {
        close(fd);
    }
    return locked;
}
