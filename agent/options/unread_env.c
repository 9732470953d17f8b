/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for misspelled variables. */
#include "agent/options/unread_env.h"

#include <stdbool.h>
#include <string.h>

#include "agent/options/option_find.h"
#include "base/variables.h"

#define ENV_PREFIX "GPUFL_AGENT_"
/* Others read variables that begin like these: one is named if it is close to ours, or to
 * ours that begins so, where theirs end like ours that begin otherwise. */
static const struct {
    const char *prefix;
    bool apart;
} shared_prefix[] = {{"GPUFL_HTTP_", false}, {"GPUFL_SOURCE_", false},
                     {"GPUFL_LOG_", true},   {"GPUFL_CURSOR_", true},
                     {"GPUFL_API_", true},   {"GPUFL_PUBLISHER_", true}};

static bool is_read(const char *name)
{
    /* GPUFL_AGENT_JAR is read by the existing agent's command line. */
    return option_of_env(name) || strcmp(name, ENV_PREFIX "JAR") == 0;
}

struct unread_env_sink {
    unread_env_say *say;
    void *arg;
    const char *prefix;
    bool shared;
    bool apart;
};

static void say_if_unread(void *arg, const char *name)
{
    const struct unread_env_sink *to = arg;
    const char *near =
        option_nearest_env(to->apart ? to->prefix : NULL, name + strlen(to->prefix));
    if (!is_read(name) && (near || !to->shared)) {
        to->say(to->arg, name, near);
    }
}

void unread_env_each(char *const *environment, unread_env_say *say, void *arg)
{
    struct unread_env_sink to = {.say = say, .arg = arg, .prefix = ENV_PREFIX};
    variables_each(environment, ENV_PREFIX, say_if_unread, &to);
    to.shared = true;
    for (size_t i = 0; i < sizeof shared_prefix / sizeof shared_prefix[0]; i++) {
        to.prefix = shared_prefix[i].prefix;
        to.apart = shared_prefix[i].apart;
        variables_each(environment, to.prefix, say_if_unread, &to);
    }
}

static void warn_unread(void *log, const char *name, const char *near)
{
    log_warn(log, "environment.unknown", "name=%s note=\"no option reads it%s%s%s\"",
             name, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

void unread_env_warn(const struct log *log, char *const *environment)
{
    struct log copy = *log;
    unread_env_each(environment, warn_unread, &copy);
}
