/* SPDX-License-Identifier: Apache-2.0 */
/* Puts together the commands that `gpufl status` prints. */
#include "cli/transfer/status_command.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "schema/layout.h"
#include "upload/journal/state_dir.h"

/* Whether the default leads to the journal of the holder. */
static bool command_reaches(int root_fd, const char *root_path)
{
    struct state_place place;
    char why[512];
    if (state_dir_open(NULL, root_fd, root_path, STATE_READ, &place, why) != GPUFL_OK) {
        return false;
    }
    bool kept = progress_is_kept_in(&sys_real, root_fd, place.fd);
    close(place.fd);
    return kept;
}

static void command_who(char out[STATUS_COMMAND_WHO_MAX], uid_t user)
{
    if (user == geteuid()) {
        out[0] = '\0';
    } else if (user == 0) {
        snprintf(out, STATUS_COMMAND_WHO_MAX, "root");
    } else {
        snprintf(out, STATUS_COMMAND_WHO_MAX, "user %u", user);
    }
}

static bool command_is_inside(const char *state_dir, const char *root_path)
{
    size_t len = strlen(root_path);
    return strncmp(state_dir, root_path, len) == 0 &&
           strcmp(state_dir + len, "/" LAYOUT_STATE_DIR) == 0;
}

void status_command_find(struct status_command *s, int root_fd, const char *root_path,
                         bool own)
{
    char holder[128];
    uid_t user;
    bool served = progress_holder(&sys_real, root_fd, holder, sizeof holder);
    bool reached = progress_tells_state(&sys_real, root_fd)
                       ? command_reaches(root_fd, root_path)
                       : own || !served;
    s->elsewhere = !s->state_dir && !reached;
    if (!s->elsewhere) {
        return;
    }
    if (!progress_state_path(&sys_real, root_fd, s->found, &user)) {
        snprintf(s->asker, sizeof s->asker, "root, with the --state-dir of the uploader");
        snprintf(s->keeper, sizeof s->keeper, "its user, with its --state-dir");
        return;
    }
    bool inside = command_is_inside(s->found, root_path);
    s->state_dir = inside ? NULL : s->found;
    command_who(s->keeper, user);
    if (s->keeper[0]) { /* root can leave a request */
        command_who(s->asker, served && !inside ? 0 : user);
    }
}

/* For a shell. */
static void command_word(struct text *out, const char *word)
{
    if (word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                          "/._-+=:,@%")] == '\0') {
        text_puts(out, word);
        return;
    }
    text_puts(out, "'");
    for (; *word; word++) {
        if (*word == '\'') {
            text_puts(out, "'\\''");
        } else {
            text_append(out, word, 1);
        }
    }
    text_puts(out, "'");
}

/* The journal that it is about. */
static struct text command_end(const struct status_command *s, struct text out)
{
    if (s->state_dir) {
        text_puts(&out, " --state-dir ");
        command_word(&out, s->state_dir);
    }
    text_append(&out, "", 1);
    return out;
}

struct text status_command_resolve(const struct status_command *s, const char *path,
                                   const char *channel)
{
    struct text out = {0};
    text_puts(&out, "gpufl resolve ");
    command_word(&out, s->directory);
    text_printf(&out, " %s%s%s", path, *channel == '*' ? "" : "/",
                *channel == '*' ? "" : channel);
    return command_end(s, out);
}

struct text status_command_quarantine(const struct status_command *s)
{
    struct text out = {0};
    text_puts(&out, "gpufl quarantine list ");
    command_word(&out, s->directory);
    return command_end(s, out);
}

struct text status_command_force(const struct status_command *s, const char *path)
{
    const char *slash = strrchr(path, '/');
    struct text out = {0};
    text_puts(&out, "gpufl upload ");
    command_word(&out, s->directory);
    text_printf(&out, " --force --session-id %s", slash ? slash + 1 : path);
    return command_end(s, out);
}
