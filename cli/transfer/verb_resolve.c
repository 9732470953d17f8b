/* SPDX-License-Identifier: Apache-2.0 */
/* Gives up what is gone of a session: in the journal, or by a request to the uploader
 * that serves the directory. */
#include "cli/transfer/verb_resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/message.h"
#include "cli/exit_codes.h"
#include "cli/transfer/directory_fault.h"
#include "schema/channels.h"
#include "upload/engine/engine.h"
#include "upload/journal/journal_read.h"
#include "upload/journal/state_dir.h"
#include "upload/published/other_uploader.h"
#include "upload/published/progress_file.h"
#include "upload/resolve/resolve.h"
#include "upload/resolve/resolve_request.h"

#define LOOK_AGAIN_MS 100

static int resolve_fail(int rc, const char *what, const char *why)
{
    message_line("gpufl resolve", "'%s': %s", what, why);
    return rc;
}

static gpufl_status resolve_open(const struct resolve_arguments *a,
                                 struct engine **engine, char why[512])
{
    static const struct engine_channels channels = {{CHANNEL_NAMES}, CHANNEL_COUNT};
    static const struct log quiet = {0};
    struct engine_config config;
    engine_config_default(&config);
    config.log = &quiet;
    config.ack_only = true;
    config.state_dir = a->state_dir;
    config.state_dir_name = "--state-dir";
    config.program = "gpufl resolve";
    gpufl_status status = engine_open(&config, engine);
    if (status != GPUFL_OK) {
        snprintf(why, 512, "out of memory");
        return status;
    }
    return engine_add_root(*engine, a->directory, &channels, why);
}

static int resolve_tell(const char *what, const struct resolve_result *result)
{
    if (!result->given_up) {
        return resolve_fail(EXIT_NOT_ALL, what, result->why);
    }
    printf("%s: %s\n", what, result->text);
    return EXIT_ALL_DONE;
}

/* Nobody serves the directory: this process does it. */
static int resolve_here(const struct resolve_arguments *a, struct engine *engine)
{
    struct resolve_result result;
    char text[JOURNAL_PATH_MAX + LAYOUT_CHANNEL_MAX + 2];
    const char *path;
    snprintf(text, sizeof text, "%s", a->what);
    const char *channel = resolve_split(text, &path);
    resolve_in_first_root(engine, path, channel, &result);
    return resolve_tell(a->what, &result);
}

/* The uploader removes the request when it has seen to it. */
static int resolve_wait(const struct resolve_arguments *a,
                        const struct state_place *place, const char *name)
{
    struct resolve_result result;
    uint64_t end_ms = sys_real.now_ms() + a->timeout_ms;
    while (faccessat(place->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
        if (sys_real.now_ms() >= end_ms) {
            return resolve_fail(EXIT_NOT_ALL, a->what,
                                "not all of it is done yet: the request stays, and the "
                                "uploader that serves the directory sees to it at its "
                                "next scan, or once the batches that are under way are "
                                "answered (gpufl status tells what is left)");
        }
        poll(NULL, 0, LOOK_AGAIN_MS);
    }
    if (!resolve_take_answer(place, name, &result)) {
        return resolve_fail(EXIT_NOT_ALL, a->what,
                            "the uploader that serves the directory took the request and "
                            "could not leave an answer (see its log, and gpufl status)");
    }
    return resolve_tell(a->what, &result);
}

static int resolve_no_journal(const struct resolve_arguments *a)
{
    return resolve_fail(EXIT_BAD_USE, a->directory,
                        "the journal of its uploader was not found (give its "
                        "--state-dir, and run this as its user or as root)");
}

/* Only in the journal of that uploader: in another one, nobody would look. */
static int resolve_ask(const struct resolve_arguments *a)
{
    struct state_place place = {.fd = -1};
    char name[RESOLVE_REQUEST_NAME];
    char why[512];
    int rc;
    int root = open(a->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char *path = realpath(a->directory, NULL);
    if (root < 0 || !path ||
        state_dir_open(a->state_dir, root, path, STATE_READ, &place, why) != GPUFL_OK ||
        !other_uploader_keeps(&place)) {
        rc = resolve_no_journal(a);
    } else if (resolve_leave_request(&place, a->what, name) != GPUFL_OK) {
        char fault[160];
        snprintf(fault, sizeof fault, "%s (run this as the user of the uploader)",
                 strerror(errno));
        rc = resolve_fail(EXIT_BAD_USE, place.path, fault);
    } else {
        rc = resolve_wait(a, &place, name);
    }
    free(path);
    if (root >= 0) {
        close(root);
    }
    if (place.fd >= 0) {
        close(place.fd);
    }
    return rc;
}

/* Whether the journal that the options lead to is another one than that of the uploader
 * that serves the directory, or that was the last to. */
static bool resolve_is_elsewhere(const struct resolve_arguments *a, int root,
                                 const char *root_path)
{
    char holder[128];
    char why[512];
    struct state_place place = {.fd = -1};
    bool served = progress_holder(&sys_real, root, holder, sizeof holder);
    bool told = progress_tells_state(&sys_real, root);
    bool found = state_dir_open(a->state_dir, root, root_path, STATE_READ, &place, why) ==
                 GPUFL_OK;
    bool kept = found && (told ? progress_is_kept_in(&sys_real, root, place.fd)
                               : other_uploader_keeps(&place));
    if (found) {
        close(place.fd);
    }
    return (served || told) && !kept;
}

/* One whose directory is gone is only in the journal. */
static int resolve_check_known(const struct resolve_arguments *a, int root,
                               const char *path)
{
    struct journal_read journal;
    struct stat st;
    bool there =
        path && fstatat(root, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
    char *root_path = realpath(a->directory, NULL);
    if (!root_path) {
        return directory_fault("gpufl resolve", a->directory, errno);
    }
    gpufl_status status =
        journal_read_open(&sys_real, a->state_dir, root, root_path, &journal);
    bool read = status == GPUFL_OK;
    bool known = there || (path && read && journal_read_first(&journal, path));
    bool elsewhere = !(known && read) && resolve_is_elsewhere(a, root, root_path);
    journal_read_fini(&journal);
    free(root_path);
    if (elsewhere) {
        return resolve_no_journal(a);
    }
    return known ? EXIT_ALL_DONE
                 : resolve_fail(EXIT_BAD_USE, a->what,
                                "no such session (expected SESSION or SESSION/CHANNEL as "
                                "gpufl status shows it)");
}

/* One that is not there would be made, and the session given up in a journal that nobody
 * reads. */
static bool resolve_has_state_dir(const struct resolve_arguments *a)
{
    int fd = a->state_dir ? open(a->state_dir, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (a->state_dir && fd < 0) {
        message_line("gpufl resolve",
                     "--state-dir: '%.*s%s': %s (expected the directory that the "
                     "uploader was given)",
                     MESSAGE_VALUE(a->state_dir, 300), strerror(errno));
        return false;
    }
    if (fd >= 0) {
        close(fd);
    }
    return true;
}

/* The result of a mistyped name would come late from an agent. */
static int resolve_check(const struct resolve_arguments *a)
{
    char text[JOURNAL_PATH_MAX + LAYOUT_CHANNEL_MAX + 2];
    const char *path;
    int root = open(a->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0) {
        return directory_fault("gpufl resolve", a->directory, errno);
    }
    if (!resolve_has_state_dir(a)) {
        close(root);
        return EXIT_BAD_USE;
    }
    snprintf(text, sizeof text, "%s", a->what);
    resolve_split(text, &path);
    int rc = resolve_check_known(a, root, strlen(a->what) < sizeof text ? path : NULL);
    close(root);
    return rc;
}

int verb_resolve(const struct resolve_arguments *a)
{
    struct engine *engine = NULL;
    char why[512];
    int rc = resolve_check(a);
    if (rc != EXIT_ALL_DONE) {
        return rc;
    }
    gpufl_status status = resolve_open(a, &engine, why);
    if (status == GPUFL_OK) {
        rc = resolve_here(a, engine);
    } else if (status == GPUFL_BUSY) {
        rc = resolve_ask(a);
    } else {
        message_line("gpufl resolve", "%s", why);
        rc = EXIT_BAD_USE;
    }
    engine_close(engine);
    return rc;
}
