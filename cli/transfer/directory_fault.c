/* SPDX-License-Identifier: Apache-2.0 */
/* Says what is wrong with a directory of sessions, and what to do. */
#include "cli/transfer/directory_fault.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/message.h"
#include "cli/exit_codes.h"
#include "upload/journal/journal_read.h"
#include "upload/source/session_root.h"

int directory_fault(const char *program, const char *path, int error)
{
    message_line(program, "DIR: '%.*s%s': %s (%s)", MESSAGE_VALUE(path, 300),
                 strerror(error),
                 error == EACCES ? "run this as a user who can read it"
                                 : "expected the directory that holds the sessions");
    return EXIT_BAD_USE;
}

static bool directory_is_known(const char *path, const char *state_dir)
{
    int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool known = root >= 0 &&
                 journal_read_knows_any(&sys_real,
                                        state_dir && *state_dir ? state_dir : NULL, root);
    if (root >= 0) {
        close(root);
    }
    return known;
}

bool directory_is_above(const char *program, const char *path, const char *state_dir)
{
    char why[512];
    bool above = session_depth_of(&sys_real, path, why) == SESSION_DEPTH_BELOW &&
                 !directory_is_known(path, state_dir);
    if (above) {
        message_line(program, "DIR: %s", why);
    }
    return above;
}
