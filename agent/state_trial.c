/* SPDX-License-Identifier: Apache-2.0 */
/* Examines state directories before Landlock does, which would name no reason. */
#include "agent/state_trial.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/folders.h"
#include "base/file.h"
#include "base/message.h"
#include "upload/journal/journal_try.h"
#include "upload/journal/state_dir.h"

/* The journal that is there, if there is one that can be reached. */
static gpufl_status state_trial_journal(const struct options *o, int fd, const char *real,
                                        char why[512])
{
    struct state_place place;
    char reason[512];
    if (state_dir_open(o->state_dir, fd, real, STATE_READ, &place, reason) != GPUFL_OK) {
        return GPUFL_OK;
    }
    gpufl_status status = journal_try(&sys_real, &place, real, why);
    close(place.fd);
    return status;
}

static gpufl_status state_trial_place(const struct options *o, int fd, const char *real,
                                      char why[512])
{
    struct state_place place;
    char reason[512];
    bool named = o->state_dir && *o->state_dir;
    if (fd < 0 && !named) {
        return GPUFL_OK;
    }
    gpufl_status status =
        state_dir_open(o->state_dir, fd, real, STATE_TRY, &place, reason);
    if (status == GPUFL_OK) {
        close(place.fd);
    } else {
        if (!named) {
            state_dir_way_out("--state-dir", reason);
        }
        snprintf(why, 512, "%s%.490s", named ? "--state-dir: " : "", reason);
    }
    return status;
}

static gpufl_status state_trial_folder(const struct options *o, const char *folder,
                                       char why[512])
{
    char real[PATH_MAX];
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const char *path = file_real_path(folder, real) ? real : folder;
    gpufl_status status = state_trial_place(o, fd, path, why);
    status = status == GPUFL_OK ? state_trial_journal(o, fd, path, why) : status;
    if (fd >= 0) {
        close(fd);
    }
    return status;
}

gpufl_status state_trial(const struct options *options, char why[512])
{
    char path[PATH_MAX];
    gpufl_status status = GPUFL_OK;
    for (unsigned i = 0; options->state == STATE_ON_DISK && status == GPUFL_OK &&
                         folders_at(options, i, path, sizeof path);
         i++) {
        status = state_trial_folder(options, path, why);
    }
    return status;
}

/* \return what is wrong with the directory and what to do; "" = nothing. */
static void runtime_judge(int fd, char fault[200])
{
    struct stat st;
    char reason[STATE_REASON_MAX];
    fault[0] = '\0';
    if (fstat(fd, &st) < 0 || faccessat(fd, ".", W_OK, AT_EACCESS) < 0) {
        snprintf(fault, 200, "%s (give one of this user, or unset it)", strerror(errno));
    } else if (st.st_uid != geteuid()) {
        snprintf(fault, 200,
                 "it belongs to user %u, not to user %u (give one of this user, or unset "
                 "it)",
                 st.st_uid, geteuid());
    } else if (st.st_mode & 022) {
        snprintf(fault, 200,
                 "other users can write to it: its mode is %04o (run chmod go-w)",
                 (unsigned)st.st_mode & 07777);
    } else if (state_dir_takes_files(fd, reason) != GPUFL_OK) {
        snprintf(fault, 200, "%s (give another one, or unset it)", reason);
    }
}

static void runtime_fault(const char *path, char fault[200])
{
    int fd = *path == '/' ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        runtime_judge(fd, fault);
        close(fd);
    } else if (strchr(path, ':')) {
        snprintf(fault, 200,
                 "it names several directories (give one name in RuntimeDirectory= of "
                 "the unit)");
    } else if (*path != '/') {
        snprintf(fault, 200,
                 "it is not absolute (give a path that begins with /, or unset it)");
    } else {
        snprintf(fault, 200, "%s (give a directory of this user, or unset it)",
                 strerror(errno));
    }
}

bool state_trial_runtime(char why[512])
{
    const char *path = getenv("RUNTIME_DIRECTORY");
    char fault[200] = "";
    if (path && *path) {
        runtime_fault(path, fault);
    }
    snprintf(why, 512,
             "RUNTIME_DIRECTORY: '%.*s%s': other users' programs will not see that the "
             "folders are served: %s",
             MESSAGE_VALUE(path ? path : "", 150), fault);
    return !fault[0];
}
