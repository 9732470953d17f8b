/* SPDX-License-Identifier: Apache-2.0 */
/* Examines state directories before Landlock does, which would name no reason. */
#include "agent/state_trial.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/folders.h"
#include "base/file.h"
#include "base/message.h"
#include "upload/journal/state_dir.h"

static gpufl_status state_trial_folder(const struct options *o, const char *folder,
                                       char why[512])
{
    struct state_place place;
    char reason[512];
    bool named = o->state_dir && *o->state_dir;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && !named) {
        return GPUFL_OK;
    }
    char *real = realpath(folder, NULL);
    gpufl_status status =
        state_dir_open(o->state_dir, fd, real ? real : folder, STATE_TRY, &place, reason);
    free(real);
    if (fd >= 0) {
        close(fd);
    }
    if (status == GPUFL_OK) {
        close(place.fd);
    } else {
        snprintf(why, 512, "%s%.490s", named ? "--state-dir: " : "", reason);
    }
    return status;
}

gpufl_status state_trial(const struct options *options, char why[512])
{
    const char *lists[] = {options->folder, options->folders};
    char path[4096];
    gpufl_status status = GPUFL_OK;
    for (size_t i = 0; options->state == STATE_ON_DISK && i < 2; i++) {
        while (status == GPUFL_OK && folders_next(&lists[i], path, sizeof path)) {
            status = state_trial_folder(options, path, why);
        }
    }
    return status;
}

/* \return what is wrong with it; NULL = nothing. */
static const char *runtime_fault(const char *path)
{
    if (strchr(path, ':')) {
        return "it names several directories";
    }
    if (*path != '/') {
        return "it is not absolute";
    }
    const char *fault = NULL;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return strerror(errno);
    }
    if (!file_dir_is_ours(fd)) {
        fault = "it belongs to another user, or others can write to it";
    } else if (faccessat(fd, ".", W_OK, AT_EACCESS) < 0) {
        fault = strerror(errno);
    }
    close(fd);
    return fault;
}

gpufl_status state_trial_runtime(char why[512])
{
    const char *path = getenv("RUNTIME_DIRECTORY");
    const char *fault = path && *path ? runtime_fault(path) : NULL;
    if (!fault) {
        return GPUFL_OK;
    }
    snprintf(
        why, 512,
        "RUNTIME_DIRECTORY: '%.*s%s': %s: other users would not see that the folders "
        "are served (give one name in RuntimeDirectory= of the unit, or unset it)",
        MESSAGE_VALUE(path, 200), fault);
    return GPUFL_ERR_IO;
}
