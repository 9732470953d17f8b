/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for misspelled variables. */
#include "agent/options/unread_env.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "agent/options/option_find.h"

#define ENV_PREFIX   "GPUFL_AGENT_"
#define ENV_NAME_MAX 128

/* Kubernetes gives each container variables for each service: for one that is named
 * gpufl-agent or gpufl-agent-metrics they begin as ours do.
 * https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
 */
static bool is_of_kubernetes(const char *name)
{
    size_t len = strlen(name);
    return strstr(name, "_SERVICE_HOST") || strstr(name, "_SERVICE_PORT") ||
           strstr(name, "_PORT_") || (len > 5 && strcmp(name + len - 5, "_PORT") == 0);
}

static bool is_read(const char *name)
{
    /* GPUFL_AGENT_JAR is read by the existing agent's command line. */
    return option_of_env(name) || strcmp(name, ENV_PREFIX "JAR") == 0;
}

void unread_env_each(char *const *environment, unread_env_say *say, void *arg)
{
    for (; *environment; environment++) {
        char name[ENV_NAME_MAX];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(*environment, "="),
                 *environment);
        if (strncmp(name, ENV_PREFIX, strlen(ENV_PREFIX)) != 0 || is_read(name) ||
            is_of_kubernetes(name)) {
            continue;
        }
        say(arg, name, option_nearest_env(name + strlen(ENV_PREFIX)));
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
