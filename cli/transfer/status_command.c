/* SPDX-License-Identifier: Apache-2.0 */
/* Puts together the commands that `gpufl status` prints. */
#include "cli/transfer/status_command.h"

#include <string.h>

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

struct text status_command_force(const struct status_command *s, const char *path)
{
    const char *slash = strrchr(path, '/');
    struct text out = {0};
    text_puts(&out, "gpufl upload ");
    command_word(&out, s->directory);
    text_printf(&out, " --force --session-id %s", slash ? slash + 1 : path);
    return command_end(s, out);
}
