/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at the lock and the state directory of a directory. */
#include "upload/lifecycle/other_root.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "upload/core/engine_state.h"
#include "upload/lifecycle/kept.h"
#include "upload/lifecycle/served.h"

bool other_root_serves(const struct engine *engine, int dir)
{
    bool locked = flock(dir, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
    if (!locked) {
        flock(dir, LOCK_UN);
    }
    return locked && served_lock_counts(engine, dir);
}

/* A group directory may be, or have been, the root of another uploader, whose journal
 * then says what was sent of it. */
bool other_root_is(struct root *root, const char *name)
{
    const struct sys *sys = root->engine->config.sys;
    int dir = sys->open_beneath(root->fd, name, O_RDONLY | O_DIRECTORY, 0);
    bool other =
        dir >= 0 && (other_root_serves(root->engine, dir) ||
                     faccessat(dir, LAYOUT_STATE_DIR, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
    if (dir >= 0) {
        close(dir);
    }
    if (other && !root->other_root_said) {
        root->other_root_said = true;
        log_warn(
            root->engine->config.log, "scan.other_root",
            "root=%s dir=%s note=\"skipped: it has an uploader or a journal of its own; "
            "serve it with that uploader\"",
            root->path, name);
    }
    if (other) {
        kept_directory(root, name);
    }
    return other;
}
